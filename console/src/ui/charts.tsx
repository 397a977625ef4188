/** Two small pictures: a line over time, and the weight of a note on its forgetting curve. */
import { date, number } from "../i18n";

export interface Point {
  at: number;
  value: number;
}

const WIDTH = 640;

export function Line({ points, height = 48, label, floor, mark }: {
  points: Point[];
  height?: number;
  label: string;
  floor?: number;
  mark?: Point;
}) {
  if (points.length === 0) return null;
  const first = points[0]!.at;
  const span = points[points.length - 1]!.at - first || 1;
  const top = Math.max(...points.map((each) => each.value), floor ?? 0, 1e-9);
  const x = (at: number) => 4 + ((at - first) / span) * (WIDTH - 8);
  const y = (value: number) => height - 4 - (value / top) * (height - 8);
  const path = points.map((each, i) => `${i ? "L" : "M"}${x(each.at).toFixed(1)} ${y(each.value).toFixed(1)}`).join("");
  return (
    <svg class="line" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label} preserveAspectRatio="none">
      <path class="line-area" d={`${path}L${x(points[points.length - 1]!.at)} ${height - 4}L${x(first)} ${height - 4}Z`} />
      <path class="line-path" d={path} vector-effect="non-scaling-stroke" />
      {floor !== undefined && (
        <line class="line-floor" x1="4" x2={WIDTH - 4} y1={y(floor)} y2={y(floor)} vector-effect="non-scaling-stroke" />
      )}
      {mark && <circle class="line-mark" cx={x(mark.at)} cy={y(mark.value)} r="4" />}
    </svg>
  );
}

/** Ebbinghaus' curve of a note: from its last use, through now, to the day on which it is forgotten. */
export function WeightCurve({ lastAccess, forgetsAt, weight, label }: {
  lastAccess: string;
  forgetsAt: string;
  weight: number;
  label: string;
}) {
  const start = Date.parse(lastAccess);
  const end = Date.parse(forgetsAt);
  const now = Date.now();
  const elapsed = Math.max(now - start, 1);
  // The service gives the weight as it is now; weight = exp(-rate * elapsed) gives the rate, and with it all the curve.
  const rate = weight < 1 ? -Math.log(Math.max(weight, 1e-6)) / elapsed : 0;
  const at = (time: number) => Math.exp(-rate * (time - start));
  const stop = Math.max(end, now) + (Math.max(end, now) - start) * 0.05;
  const points = Array.from({ length: 61 }, (_, i) => {
    const time = start + ((stop - start) * i) / 60;
    return { at: time, value: at(time) };
  });
  return (
    <figure>
      <Line points={points} height={120} label={label} floor={at(end)} mark={{ at: Math.min(now, stop), value: weight }} />
      <figcaption>
        {label} · {date(lastAccess)} → {date(forgetsAt)} · {number(weight, 2)}
      </figcaption>
    </figure>
  );
}
