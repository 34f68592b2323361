// Every run as a ring, the middle half as a band, the median as a line; one scale for all.
import { html, svg, type SVGTemplateResult, type TemplateResult } from "lit-html";
import type { Spread } from "../../src/protocol.generated.ts";
import { quartiles, rings, ticks } from "../distribution.ts";
import { seconds } from "../numbers.ts";

const LEFT = 66;
const RIGHT = 24;
const LANE = 54;
/** The page's padding at both sides. */
const PADDING = 28;

interface Run {
  readonly name: string;
  readonly spread: Spread;
}

export function distribution(runs: readonly Run[], pageWidth: number): TemplateResult {
  const width = Math.max(240, pageWidth - PADDING);
  const marks = ticks(Math.min(...runs.map(({ spread }) => spread.minimum)), Math.max(...runs.map(({ spread }) => spread.samples.at(-1) ?? 0)), width > 560 ? 6 : 4);
  const low = marks[0] ?? 0;
  const high = marks.at(-1) ?? 1;
  const x = (value: number): number => LEFT + ((value - low) / (high - low)) * (width - LEFT - RIGHT);
  const height = runs.length * LANE;
  return html`<figure class="dist">
    <svg width=${width} height=${height + 24} role="img" aria-label=${describe(runs)}>
      ${marks.map((mark, index) => axis(x(mark), height, label(mark, index === marks.length - 1, high)))}
      ${runs.map((run, lane) => laneOf(run, lane, x))}
    </svg>
    <figcaption class="keyline"><span><i class="k-dot"></i>one run</span><span><i class="k-iqr"></i>middle half (IQR)</span
      ><span><i class="k-med"></i>median</span></figcaption>
  </figure>`;
}

const describe = (runs: readonly Run[]): string =>
  `Runs: ${runs
    .map(({ name, spread }) => {
      const [low, high] = quartiles(spread.samples);
      return `${name} median ${seconds(spread.median)}, middle half ${seconds(low)} to ${seconds(high)}`;
    })
    .join("; ")}`;

function label(value: number, last: boolean, high: number): string {
  const [scale, unit] = high < 1e-3 ? [1e6, "µs"] : high < 1 ? [1e3, "ms"] : [1, "s"];
  return `${Number((value * scale).toPrecision(4))}${last ? ` ${unit}` : ""}`;
}

const axis = (x: number, height: number, text: string): SVGTemplateResult =>
  svg`<line class="axis" x1=${x} x2=${x} y1="4" y2=${height}></line><text x=${x} y=${height + 16} text-anchor="middle">${text}</text>`;

function laneOf({ name, spread }: Run, lane: number, x: (value: number) => number): SVGTemplateResult {
  const y = 28 + lane * LANE;
  const [low, high] = quartiles(spread.samples);
  const style = name === "hoisted" ? "dot b" : "dot";
  return svg`<text class="lbl" x="0" y=${y + 4}>${name}</text>
    <rect class="iqr" x=${x(low)} width=${Math.max(1, x(high) - x(low))} y=${y - 20} height="40"></rect>
    ${rings(spread.samples.map(x)).map((ring) => svg`<circle class=${style} cx=${ring.x} cy=${y + ring.y} r="2.6"></circle>`)}
    <line class="med" x1=${x(spread.median)} x2=${x(spread.median)} y1=${y - 22} y2=${y + 22}></line>`;
}
