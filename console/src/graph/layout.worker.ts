/** Places notes by their links, off the page's thread; sends positions as they settle. */
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY, type SimulationNodeDatum } from "d3-force";

export interface Ask {
  count: number;
  links: [number, number, number][]; // source, target, score
}

const STEPS = 240;
const SHOW_EVERY = 6;

self.onmessage = (event: MessageEvent<Ask>) => {
  const { count, links } = event.data;
  const degree = new Uint32Array(count);
  for (const [source, target] of links) {
    degree[source]!++;
    degree[target]!++;
  }
  // Linked notes start inside, the others around them, on a spiral of the golden angle: even, and the same every time.
  const place = new Uint32Array(count);
  Array.from(degree.keys()).sort((a, b) => Math.sign(degree[b]!) - Math.sign(degree[a]!) || a - b).forEach((i, n) => (place[i] = n));
  const nodes: SimulationNodeDatum[] = Array.from(place, (n) => {
    const radius = 13 * Math.sqrt(n);
    return { x: radius * Math.cos(n * 2.399963), y: radius * Math.sin(n * 2.399963) };
  });
  const simulation = forceSimulation(nodes)
    .force("links", forceLink(links.map(([source, target]) => ({ source, target }))).distance(30).strength(0.3))
    .force("apart", forceManyBody().strength((_, i) => (degree[i] ? -22 : -5)).distanceMax(220).theta(1.1))
    .force("x", forceX(0).strength(0.012))
    .force("y", forceY(0).strength(0.012))
    .force("collide", forceCollide(6))
    .alphaDecay(1 - 0.001 ** (1 / STEPS))
    .stop();
  for (let step = 0; step <= STEPS; step++) {
    if (step > 0) simulation.tick();
    if (step % SHOW_EVERY === 0 || step === STEPS) { // the first before any step: something is to be seen at once
      const places = new Float32Array(count * 2);
      nodes.forEach((node, i) => {
        places[2 * i] = node.x ?? 0;
        places[2 * i + 1] = node.y ?? 0;
      });
      self.postMessage({ places, done: step === STEPS }, { transfer: [places.buffer] });
    }
  }
};
