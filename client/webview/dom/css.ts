// Sets computed styles through the CSSOM: the content policy allows no style attributes.
import { noChange } from "lit-html";
import { Directive, directive, PartType, type ElementPart, type PartInfo } from "lit-html/directive.js";

type Styles = Readonly<Record<string, string>>;

class Css extends Directive {
  private before: Styles = {};

  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error("css() belongs into the tag itself");
  }

  render(_styles: Styles): typeof noChange {
    return noChange;
  }

  override update(part: ElementPart, [styles]: [Styles]): typeof noChange {
    const { style } = part.element as HTMLElement;
    for (const [name, value] of Object.entries(styles)) if (this.before[name] !== value) style.setProperty(name, value);
    for (const name of Object.keys(this.before)) if (!(name in styles)) style.removeProperty(name);
    this.before = styles;
    return noChange;
  }
}

/** `<i ${css({ width: "40%" })}></i>` */
export const css = directive(Css);

export const percent = (share: number): string => `${(Math.min(Math.max(share, 0), 1) * 100).toFixed(2)}%`;
