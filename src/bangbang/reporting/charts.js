/* Axes and marks in SVG, drawn anew at every width, so that text keeps its size. */

/* Round numbers from `low` to `high`, about `count` of them, each with its text. */
function ticks([low, high], count) {
  const rough = (high - low) / count || 1, power = Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * 10 ** power).find((each) => each >= rough * 0.999);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    const value = k * step || 0;
    found.push([value, digits ? plain(value, digits) : whole(value)]);
  }
  return found;
}

function padded(values, share = 0.06) {
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * share;
  return [low - room, high + room];
}

const END_LETTERS = 24;
const shortened = (label) => (label.length > END_LETTERS ? `${label.slice(0, END_LETTERS - 1)}…` : label);

class Chart {
  /* `draw(chart)` puts marks on an empty chart; it is called at once, and whenever the frame's width changes. */
  constructor(name, draw) {
    this.frame = element("div", "chart");
    this.frame.setAttribute("role", "img");
    this.frame.setAttribute("aria-label", name);
    this.draw = draw;
    // not inside the observer: a drawing's height would be one more change of size
    new ResizeObserver(() => requestAnimationFrame(() => { if (this.frame.clientWidth !== this.width) this.redraw(); })).observe(this.frame);
  }

  redraw() {
    this.width = this.frame.clientWidth;
    if (!this.width) return;
    this.height = Math.round(Math.min(440, Math.max(270, this.width * 0.46)));
    this.svg = svg("svg", { viewBox: `0 0 ${this.width} ${this.height}`, width: this.width, height: this.height });
    this.frame.replaceChildren(this.svg);
    this.draw(this);
  }

  /* Scales and their lines; `x` is { domain, label, at: places with texts }, `y` a domain. */
  axes(x, y, right) {
    const { width, height } = this, left = 52, bottom = 46, top = 14;
    const scale = ([low, high], from, to) => (value) => from + (value - low) / (high - low || 1) * (to - from);
    this.x = scale(x.domain, left, width - right);
    this.y = scale(y, height - bottom, top);
    this.right = width - right;
    this.top = top;
    this.base = height - bottom;
    const grid = svg("g", { class: "grid" });
    for (const [value, text] of ticks(y, 6)) {
      grid.append(svg("line", { x1: left, x2: this.right, y1: this.y(value), y2: this.y(value) }),
        svg("text", { x: left - 9, y: this.y(value) + 4, "text-anchor": "end" }, text));
    }
    for (const [value, text] of x.at ?? ticks(x.domain, width < 560 ? 4 : 8)) {
      grid.append(svg("text", { x: this.x(value), y: height - bottom + 19, "text-anchor": "middle" }, text));
    }
    grid.append(svg("text", { class: "axis", x: (left + this.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label));
    this.svg.append(grid);
  }

  /* A thin upright line with its name, on the side that has more room. */
  rule(x, name) {
    const at = this.x(x), late = at > this.width / 2;
    this.svg.append(svg("line", { class: "rule", x1: at, x2: at, y1: this.top, y2: this.base }),
      svg("text", { class: "rule", x: at + (late ? -5 : 5), y: this.top + 10, "text-anchor": late ? "end" : "start" }, shortened(name)));
  }

  path(points, attributes) {
    this.svg.append(svg("path", { d: points.map(([x, y], place) => `${place ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)}`).join(" "), ...attributes }));
  }

  /* A row's mark with a note that opens when it is pointed at, tapped, or reached by the keyboard. */
  mark(label, x, y, note, className = "") {
    const { marker, colour } = looks.get(label);
    const made = svg("g", { class: `mark ${className}`, transform: `translate(${this.x(x).toFixed(1)} ${this.y(y).toFixed(1)})`, tabindex: "0", style: `--colour: ${colour}` },
      svg("circle", { r: 13, class: "reach" }), svg("path", { d: MARKS[marker] }));
    for (const happening of ["mouseenter", "focus", "click"]) made.addEventListener(happening, () => showTip(this.frame, made.lastChild, ...note()));
    for (const happening of ["mouseleave", "blur"]) made.addEventListener(happening, () => hideTip(this.frame));
    this.svg.append(made);
    return made;
  }

  /* Names beside the ends of lines, pushed apart where they would overlap. */
  endNames(ends) {
    const sorted = ends.map(([label, y]) => ({ label, y: this.y(y) })).sort((one, other) => one.y - other.y);
    const gap = 16;
    sorted.forEach((each, place) => { if (place) each.y = Math.max(each.y, sorted[place - 1].y + gap); });
    const over = sorted.length ? sorted.at(-1).y - (this.height - 52) : 0;
    if (over > 0) sorted.forEach((each) => { each.y -= over; });
    for (let place = sorted.length - 2; place >= 0; place--) sorted[place].y = Math.min(sorted[place].y, sorted[place + 1].y - gap);
    for (const { label, y } of sorted) {
      this.svg.append(svg("text", { class: "end", x: this.right + 14, y: y + 4, style: `fill: ${looks.get(label).colour}` }, shortened(label)));
    }
  }
}

/* Rows by name; a click hides or shows one. */
function legend(labels, hidden, changed) {
  return element("div", "legend", ...labels.map((label) => {
    const button = element("button", "", glyph(label), label);
    button.type = "button";
    button.title = "hide or show";
    button.setAttribute("aria-pressed", String(!hidden.has(label)));
    button.addEventListener("click", () => {
      if (!hidden.delete(label)) hidden.add(label);
      if (hidden.size === labels.length) hidden.clear();
      [...button.parentElement.children].forEach((each, place) => each.setAttribute("aria-pressed", String(!hidden.has(labels[place]))));
      changed();
    });
    return button;
  }));
}
