/* Many targets of each method. */

class TargetsView {
  /* `drawing` holds the plots, wide and narrow; beside them are so many targets of each method. */
  constructor(explained, drawing, shown = 5) {
    this.plot = element("div", "plot", drawing);
    this.list = element("div", "methods");
    this.shown = shown;
    this.root = element("section", "targets", this.plot, this.list);
    for (const method of explained.methods) {
      this.list.append(this.card(method));
      for (const group of this.plot.querySelectorAll(`.points.${method.name}`)) this.name(group, method);
    }
  }

  static lead(methods) {
    return `${methods[0].samples} targets z for one example, by each method. Up: what the reward likes, with the reference y on top. ` +
      "Right: what the model itself would write. A larger mark was drawn more often. SPG’s targets should lie between the reference and the model.";
  }

  static texts(explained) {
    return described([...givenTexts(explained), ["the model alone", "", explained.output || "(nothing)"]]);
  }

  name(group, method) {
    const marks = group.querySelector("use") ? group.querySelectorAll("use") : group.querySelectorAll(":scope > path");
    marks.forEach((mark, place) => {
      for (const happening of ["mouseenter", "click"]) mark.addEventListener(happening, () => this.tell(mark, method, method.targets[place]));
      mark.addEventListener("mouseleave", () => hideTip(this.plot));
    });
  }

  tell(mark, method, target) {
    const often = target.times > 1 ? `, ${target.times} × of ${method.samples}` : "";
    showTip(this.plot, mark, bold(target.text || "(nothing)"),
      element("span", "", `${method.method}${often} · R ${plain(target.reward, 3)} · log p ${plain(target.log_p, 1)}`));
  }

  card(method) {
    const list = element("ol", "", ...method.targets.slice(0, this.shown).map((each) =>
      element("li", "", each.text || "(nothing)", element("span", "", each.times > 1 ? `${each.times} ×` : ""))));
    const card = element("section", `method ${method.name}`,
      element("h2", "", method.method, element("small", "", method.about)),
      element("p", "", `mean R ${plain(method.reward, 3)} · mean log p ${plain(method.log_p, 1)} · ` +
        `${method.distinct} different`), list);
    card.style.setProperty("--colour", `var(--${method.name})`);
    card.addEventListener("mouseenter", () => this.light(method.name));
    card.addEventListener("mouseleave", () => this.light(null));
    return card;
  }

  light(name) {
    this.plot.toggleAttribute("data-only", name !== null);
    for (const group of this.plot.querySelectorAll(".points")) group.classList.toggle("lit", name !== null && group.classList.contains(name));
  }
}
