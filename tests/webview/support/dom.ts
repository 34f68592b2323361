// A document for views that are drawn without a browser. Imported before anything that draws.
import { Window } from "happy-dom";

const window = new Window();
Object.assign(globalThis, { window, document: window.document, HTMLElement: window.HTMLElement });
