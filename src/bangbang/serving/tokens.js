/* What a run writes, token by token. */

class AnswerView {
  constructor(answer, run, frame) {
    this.frame = frame;
    const note = [run.label, answer.cut ? "the text is cut to what the model reads" : "", run.missing, answer.note, run.caveat];
    this.root = element("article", "answer", element("h2", "", answer.run),
      element("p", "note", note.filter(Boolean).join(" · ")), ...answer.outputs.map((output) => this.output(output)));
  }

  output(output) {
    const figure = output.reward === null ? "" : `R = ${plain(output.reward, 3)} · `;
    return element("section", "output",
      element("header", "", element("span", "", output.decoder), element("span", "", `${figure}log p = ${plain(output.log_prob, 2)}`)),
      element("p", "said", output.written || "(nothing)"),
      element("div", "tokens", ...output.tokens.map((token) => this.token(token))));
  }

  token(token) {
    const share = element("i", ""), made = element("button", `token ${token.chosen_by ?? ""}`, token.token);
    share.style.width = `${100 * token.probability}%`;
    made.type = "button";
    made.append(element("span", "p-share", share), element("small", "", `p ${chance(token.probability)}`));
    if (token.chosen_by) made.append(element("small", "", `Δr ${signed(token.delta_r)}`));
    for (const happening of ["mouseenter", "focus", "click"]) made.addEventListener(happening, () => this.tell(made, token));
    for (const happening of ["mouseleave", "blur"]) made.addEventListener(happening, () => hideTip(this.frame));
    return made;
  }

  tell(mark, token) {
    const lines = [bold(token.token), element("div", "", `The model gives it ${pIs(token.probability)}.`)];
    const others = token.likeliest.filter((each) => each.token !== token.token);
    const named = others.map((each) => `${each.token} ${chance(each.probability)}`).join(", ");
    if (named) lines.push(element("div", "", `Likely here as well: ${named}.`));
    if (token.chosen_by) lines.push(element("div", "", AnswerView.who(token)));
    showTip(this.frame, mark, ...lines);
  }

  static who(token) {
    const earned = `It earned Δr = ${signed(token.delta_r)}; R is ${plain(token.reward, 3)} now.`;
    if (token.chosen_by === "reward") {
      const as = token.best_count > 1 ? ` or one of ${(token.best_count - 1).toLocaleString("en")} as good` : "";
      return `${earned} In training the reward would have chosen it${as}.`;
    }
    const more = token.best_count > token.best.length ? ", …" : "";
    return `${earned} In training only the model would have chosen it: the reward wants ${token.best.join(", ")}${more}.`;
  }
}
