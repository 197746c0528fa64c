/* Runs the scripts of a page without a browser: a DOM that keeps texts, and complains of NaN and of what is missing.
   node page_stub.js PAGE: presses every button, and prints as JSON the title and the texts of each part's table rows and list entries. */

const fs = require("fs");
const made = [], frames = [];

class Element {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], dataset: {}, attributes: {}, listeners: {}, className: "", clientWidth: 900, content: this });
    this.style = { setProperty: (name, value) => this.check(name, value) };
    this.classList = { toggle: (name, on) => { if (on) this.className += ` ${name}`; }, add() {}, remove() {}, contains: () => false };
    made.push(this);
  }
  get children() { return this.childNodes.filter((each) => each instanceof Element); }
  get lastChild() { return this.childNodes.at(-1); }
  get textContent() { return this.childNodes.map((each) => each.textContent ?? each).join(""); }
  set textContent(text) { this.childNodes = [String(text)]; }
  check(name, value) { if (/NaN|undefined|null/.test(value)) throw new Error(`${this.tag}: ${name} = ${value}`); }
  append(...parts) {
    for (const part of parts) {
      if (part === undefined || part === null) throw new Error(`${this.tag}: nothing is put in`);
      if (part instanceof Element) { part.parentElement?.drop(part); part.parentElement = this; }
      else if (["NaN", "undefined"].includes(String(part))) throw new Error(`${this.tag}: ${part}`);
      this.childNodes.push(part);
    }
  }
  drop(part) { this.childNodes = this.childNodes.filter((each) => each !== part); }
  replaceChildren(...parts) { this.childNodes = []; this.append(...parts); }
  setAttribute(name, value) { this.check(name, value); this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  addEventListener(name, act) { (this.listeners[name] ??= []).push(act); }
  happen(name) { for (const act of this.listeners[name] ?? []) act({ preventDefault() {} }); }
  querySelector() { return new Element("found"); }
  querySelectorAll() { return []; }
  getBoundingClientRect() { return { left: 0, right: 9, top: 0, bottom: 9, width: 9, height: 9 }; }
  cloneNode() { return this; }
  insertAdjacentHTML() {}
  toggleAttribute() {}
  remove() {}
  focus() {}
  below(tags) { return this.children.flatMap((each) => [...(tags.includes(each.tag) ? [each] : []), ...each.below(tags)]); }
}

const named = new Map();
const byId = (id) => named.get(id) ?? named.set(id, new Element(id)).get(id);
const create = (tag) => new Element(tag);
globalThis.document = { createElement: create, createElementNS: (space, tag) => create(tag), getElementById: byId, querySelectorAll: () => [], addEventListener() {} };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.ResizeObserver = class { constructor(changed) { frames.push(changed); } observe() {} };
globalThis.requestAnimationFrame = (act) => act();
globalThis.addEventListener = globalThis.scrollBy = () => {};

const page = fs.readFileSync(process.argv[2], "utf8");
byId("record").textContent = page.match(/id="record">([^]*?)<\/script>/)[1];
(0, eval)(page.match(/<script>\n([^]*?)<\/script>/)[1]);
const draw = () => frames.forEach((changed) => changed());
draw();
const parts = byId("content").children.map((part) => [part.id, part.below(["tr", "li"]).map((row) => row.children.map((each) => each.textContent))]);
for (const button of made.filter((each) => each.tag === "button" && each.textContent !== "Copy")) { button.happen("click"); draw(); }
for (const mark of made.filter((each) => each.listeners.mouseenter)) mark.happen("mouseenter");
process.stdout.write(JSON.stringify({ title: byId("title").textContent, parts: Object.fromEntries(parts) }));
