"use strict";
/* What the pages share: their record, how numbers are written, how elements are made. */

const record = JSON.parse(document.getElementById("record").textContent);
const at = (id) => document.getElementById(id);
const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
const plain = (value, digits = 2) => value.toFixed(digits).replace("-", "−");
const chance = (value) => (value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value > 0 ? "< 0.001" : "0");
const pIs = (value) => (chance(value).startsWith("<") ? `p ${chance(value)}` : `p = ${chance(value)}`);

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

const bold = (text, className) => element("b", className, text);

/* A list of named texts; a row is [name, class, ...content]. */
function described(rows) {
  const list = element("dl", "texts");
  for (const [name, className, ...content] of rows) list.append(element("dt", "", name), element("dd", className, ...content));
  return list;
}

/* Numbers to be seen at once; each is [value, name]. */
function figures(pairs) {
  return element("div", "figures", ...pairs.map(([value, name]) => element("div", "", bold(value), element("span", "", name))));
}

/* The source and the reference of what is explained. */
function givenTexts(explained) {
  const others = explained.references > 1 ? ` (the first of ${explained.references} that the reward sees)` : "";
  return [["source", "source", explained.source || "(empty)"], ["reference y", "", explained.reference, others]];
}

/* A note beside a mark, inside its frame, which is positioned. */
function showTip(frame, mark, ...content) {
  let tip = frame.querySelector(":scope > .tip");
  if (!tip) frame.append(tip = element("div", "tip"));
  tip.replaceChildren(...content);
  tip.hidden = false;
  const outer = frame.getBoundingClientRect(), box = mark.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - outer.left - tip.offsetWidth / 2), outer.width - tip.offsetWidth - 8);
  const above = box.top - outer.top - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 0 ? above : box.bottom - outer.top + 8}px`;
}

function hideTip(frame) {
  const tip = frame.querySelector(":scope > .tip");
  if (tip) tip.hidden = true;
}
