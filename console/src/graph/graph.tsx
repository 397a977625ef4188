/** The notes as a graph on a canvas: positions come from the worker, drawing is one pass over what is in view. */
import { quadtree, type Quadtree } from "d3-quadtree";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { KINDS, type Kind } from "../types";
import type { Ask } from "./layout.worker";

export interface GraphNote {
  id: string;
  content: string;
  kind: Kind;
  state: string;
  recorded_at: string;
  weight: number;
}

export interface GraphLink {
  source: string;
  target: string;
  type: string;
  score: number;
}

interface Props {
  notes: GraphNote[];
  links: GraphLink[];
  until: number; // notes recorded later are not drawn
  open: (id: string) => void;
}

const RADIUS = 4.5;
const LABELS_FROM = 1.6; // zoom from which contents are written beside the notes
const MOST_LABELS = 120;

export function Graph({ notes, links, until, open }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const places = useRef(new Float32Array(0));
  const view = useRef<ZoomTransform>(zoomIdentity);
  const behaviour = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const tree = useRef<Quadtree<number> | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [settled, setSettled] = useState(0);

  const edges = useMemo(() => {
    const index = new Map(notes.map((note, i) => [note.id, i]));
    return links.flatMap((link) => {
      const source = index.get(link.source);
      const target = index.get(link.target);
      return source === undefined || target === undefined ? [] : [{ source, target, type: link.type, score: link.score }];
    });
  }, [notes, links]);
  const recorded = useMemo(() => notes.map((note) => Date.parse(note.recorded_at)), [notes]);

  const draw = () => paint(canvas.current, places.current, view.current, { notes, edges, recorded, until, hovered });

  const fit = () => {
    const element = canvas.current;
    if (!element || !behaviour.current || places.current.length === 0) return;
    select(element).call(behaviour.current.transform, fitted(places.current, element));
  };

  useEffect(() => {
    const worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    let first = true;
    worker.onmessage = (event: MessageEvent<{ places: Float32Array; done: boolean }>) => {
      places.current = event.data.places as Float32Array<ArrayBuffer>;
      tree.current = quadtree<number>(notes.map((_, i) => i), (i) => places.current[2 * i]!, (i) => places.current[2 * i + 1]!);
      if (first || event.data.done) fit();
      first = false;
      setSettled((n) => (event.data.done ? -Math.abs(n) - 1 : Math.abs(n) + 1));
    };
    const ask: Ask = { count: notes.length, links: edges.map((edge) => [edge.source, edge.target, edge.score]) };
    worker.postMessage(ask);
    return () => worker.terminate();
  }, [notes, edges]);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    behaviour.current = zoom<HTMLCanvasElement, unknown>().scaleExtent([0.05, 12]).on("zoom", (event: { transform: ZoomTransform }) => {
      view.current = event.transform;
      requestAnimationFrame(() => drawing.current());
    });
    select(element).call(behaviour.current);
    const resized = new ResizeObserver(() => drawing.current());
    resized.observe(element);
    return () => resized.disconnect();
  }, []);

  const drawing = useRef(draw);
  drawing.current = draw;
  useEffect(draw, [settled, until, hovered, notes, edges]);

  const under = (event: MouseEvent): number | null => {
    const [x, y] = view.current.invert([event.offsetX, event.offsetY]);
    const found = tree.current?.find(x, y, 10 / view.current.k + 4);
    return found !== undefined && recorded[found]! <= until ? found : null;
  };
  const scale = (factor: number) => {
    if (canvas.current && behaviour.current) select(canvas.current).call(behaviour.current.scaleBy, factor);
  };

  return (
    <div class="graph">
      <div class="graph-tools">
        <button type="button" aria-label="+" onClick={() => scale(1.4)}>+</button>
        <button type="button" aria-label="−" onClick={() => scale(1 / 1.4)}>−</button>
        <button type="button" onClick={fit}>{t("fit")}</button>
      </div>
      <canvas
        ref={canvas}
        role="img"
        aria-label={t("graphHelp")}
        data-settled={settled < 0}
        onMouseMove={(event) => setHovered(under(event))}
        onMouseLeave={() => setHovered(null)}
        onClick={(event) => {
          const found = under(event);
          if (found !== null) open(notes[found]!.id);
        }}
      />
      <ul class="legend">
        {KINDS.map((kind) => <li key={kind}><i class={`dot kind-${kind}`} />{kind}</li>)}
      </ul>
      {hovered !== null && notes[hovered] && <p class="hovered">{notes[hovered].content}</p>}
    </div>
  );
}

function fitted(places: Float32Array, element: HTMLCanvasElement): ZoomTransform {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < places.length; i += 2) {
    left = Math.min(left, places[i]!);
    right = Math.max(right, places[i]!);
    top = Math.min(top, places[i + 1]!);
    bottom = Math.max(bottom, places[i + 1]!);
  }
  const { clientWidth: width, clientHeight: height } = element;
  const k = Math.min(2.5, 0.9 * Math.min(width / Math.max(right - left, 60), height / Math.max(bottom - top, 60)));
  return zoomIdentity.translate(width / 2 - (k * (left + right)) / 2, height / 2 - (k * (top + bottom)) / 2).scale(k);
}

interface Scene {
  notes: GraphNote[];
  edges: { source: number; target: number; type: string; score: number }[];
  recorded: number[];
  until: number;
  hovered: number | null;
}

function paint(element: HTMLCanvasElement | null, places: Float32Array, view: ZoomTransform, scene: Scene): void {
  const pen = element?.getContext("2d");
  if (!element || !pen) return;
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = element;
  if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
  }
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (places.length < 2 * scene.notes.length) return;
  pen.translate(view.x, view.y);
  pen.scale(view.k, view.k);
  const [x0, y0] = view.invert([-20, -20]);
  const [x1, y1] = view.invert([width + 20, height + 20]);
  const shown = (i: number) => scene.recorded[i]! <= scene.until;
  const inside = (i: number) => places[2 * i]! > x0 && places[2 * i]! < x1 && places[2 * i + 1]! > y0 && places[2 * i + 1]! < y1;

  for (const type of ["related", "same_entity", "continues", "causes", "supersedes"]) {
    pen.beginPath();
    for (const { source, target, type: own } of scene.edges) {
      if (own !== type || !shown(source) || !shown(target) || !(inside(source) || inside(target))) continue;
      pen.moveTo(places[2 * source]!, places[2 * source + 1]!);
      pen.lineTo(places[2 * target]!, places[2 * target + 1]!);
    }
    pen.strokeStyle = colour(`--link-${type}`);
    pen.lineWidth = 1 / view.k;
    pen.setLineDash(type === "supersedes" ? [4 / view.k, 3 / view.k] : []);
    pen.stroke();
  }
  pen.setLineDash([]);
  const visible: number[] = [];
  for (const kind of KINDS) {
    for (const old of [false, true]) {
      pen.beginPath();
      for (let i = 0; i < scene.notes.length; i++) {
        const note = scene.notes[i]!;
        if (note.kind !== kind || (note.state !== "current") !== old || !shown(i) || !inside(i)) continue;
        visible.push(i);
        const radius = (RADIUS * (0.6 + 0.4 * note.weight)) / Math.max(1, Math.sqrt(view.k) * 0.8);
        pen.moveTo(places[2 * i]! + radius, places[2 * i + 1]!);
        pen.arc(places[2 * i]!, places[2 * i + 1]!, radius, 0, 7);
      }
      pen.globalAlpha = old ? 0.3 : 1;
      pen.fillStyle = colour(`--kind-${kind}`);
      pen.fill();
    }
  }
  pen.globalAlpha = 1;
  if (view.k >= LABELS_FROM && visible.length <= MOST_LABELS) {
    pen.fillStyle = colour("--ink");
    pen.font = `${11 / view.k}px system-ui, sans-serif`;
    for (const i of visible) {
      const text = scene.notes[i]!.content;
      pen.fillText(text.length > 42 ? `${text.slice(0, 40)}…` : text, places[2 * i]! + 7 / view.k, places[2 * i + 1]! + 4 / view.k);
    }
  }
  if (scene.hovered !== null) {
    pen.beginPath();
    pen.arc(places[2 * scene.hovered]!, places[2 * scene.hovered + 1]!, 9 / Math.sqrt(view.k), 0, 7);
    pen.strokeStyle = colour("--accent");
    pen.lineWidth = 2.5 / view.k;
    pen.stroke();
  }
}
