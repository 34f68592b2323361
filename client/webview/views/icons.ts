// Icons, drawn on a grid of 16. An icon has a name unless the text beside it says the same.
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit-html";

const SHAPES = {
  warning: svg`<path d="M8 2.2 14.4 13.5H1.6Z"/><path d="M8 6.4v3.4M8 11.6v.1"/>`,
  error: svg`<circle cx="8" cy="8" r="6"/><path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4"/>`,
  information: svg`<circle cx="8" cy="8" r="6"/><path d="M8 7.4v3.8M8 5v.1"/>`,
  check: svg`<path d="m3 8.4 3.2 3.2L13 4.8"/>`,
  pin: svg`<path d="M5.6 2.5h4.8M6.4 2.5v4.2L4.3 9.2h7.4L9.6 6.7V2.5M8 9.2v4.6"/>`,
  refresh: svg`<path d="M13 8a5 5 0 1 1-1.6-3.7L13 5.8"/><path d="M13 2.6v3.2H9.8"/>`,
  down: svg`<path d="m4.5 6.5 3.5 3.4 3.5-3.4"/>`,
  search: svg`<circle cx="7" cy="7" r="4.2"/><path d="m10.2 10.2 3.4 3.4"/>`,
  lock: svg`<rect x="3.5" y="7" width="9" height="6.5" rx="1"/><path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2"/>`,
  document: svg`<path d="M9.2 2H4.2v12h7.6V4.6Z"/><path d="M9.2 2v2.6h2.6"/>`,
} satisfies Record<string, SVGTemplateResult>;

export type Icon = keyof typeof SHAPES;

export function icon(shape: Icon, style = "", name = ""): TemplateResult {
  return html`<svg class="i ${style}" viewBox="0 0 16 16" role=${name ? "img" : nothing} aria-label=${name || nothing}
    aria-hidden=${name ? nothing : "true"}>${SHAPES[shape]}</svg>`;
}

const SEVERITIES: Readonly<Record<string, readonly [Icon, string]>> = {
  error: ["error", "err"],
  warning: ["warning", "warn"],
};

/** The icon of a finding, named by its severity. */
export function severityIcon(severity: string): TemplateResult {
  const [shape, style] = SEVERITIES[severity] ?? (["information", ""] as const);
  return icon(shape, style, severity);
}
