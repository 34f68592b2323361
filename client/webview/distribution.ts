// Where the rings of a distribution go. Pure.
export interface Ring {
  readonly x: number;
  readonly y: number;
}

const SPACING = 6.5;
const STEP = 5.2;
const HALF_HEIGHT = 20;

/** First and third quartile of sorted samples, between them by interpolation. */
export function quartiles(sorted: readonly number[]): readonly [number, number] {
  return [quantile(sorted, 0.25), quantile(sorted, 0.75)];
}

function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? 0;
  const high = sorted[Math.ceil(at)] ?? low;
  return low + (high - low) * (at - Math.floor(at));
}

/** Round figures that cover `low` to `high` with about `count` steps. */
export function ticks(low: number, high: number, count = 6): number[] {
  const rough = Math.max(high - low, high * 0.02, 1e-12) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** Rings for samples at `xs`, stacked up and down in turn where they would touch. */
export function rings(xs: readonly number[]): Ring[] {
  const lanes: { x: number; lane: number }[] = [];
  const ends: number[] = []; // where each lane's last ring stands; xs are sorted
  for (const x of xs) {
    let lane = ends.findIndex((end) => x - end >= SPACING);
    if (lane < 0) lane = ends.length;
    ends[lane] = x;
    lanes.push({ x, lane });
  }
  const highest = Math.max(1, ...lanes.map(({ lane }) => Math.ceil(lane / 2)));
  const step = Math.min(STEP, HALF_HEIGHT / highest);
  return lanes.map(({ x, lane }) => ({ x, y: (lane % 2 ? 1 : -1) * Math.ceil(lane / 2) * step }));
}
