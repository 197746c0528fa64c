/* The page of `bangbang serve`: one question at a time. Every text is put in as text. */

const reads = (kind) => record.runs.some((run) => run.reads === kind);
const runNamed = (name) => record.runs.find((run) => run.name === name);
let picture = null; // the file that was chosen, until another is, or a text is typed

at("eyebrow").textContent = `bangbang serve · ${record.runs.map((run) => `${run.name} (${run.checkpoint})`).join(" · ")}`;
at("lead").append("Each run writes by greedy search, by beam search and by minimum Bayes risk. The small number is the model’s probability of a token.");
at("text-field").hidden = !reads("tokens");
at("picture-field").hidden = !reads("features");
at("legend").append("Δr is what a token earned. In training ", bold("the reward", "reward"), " would have chosen the orange tokens, ",
  bold("only the model", "model"), " the blue ones.");
at("footer").append(element("p", "", "All of this stays on the machine that serves the page."));

function say(text, wrong = false) {
  at("status").textContent = text;
  at("status").classList.toggle("wrong", wrong);
}

function choose(file) {
  if (!file) return;
  if (file.size > record.bytes) return say(`The picture has ${file.size.toLocaleString("en")} bytes; at most ${record.bytes.toLocaleString("en")} are read.`, true);
  picture = file;
  at("text").value = "";
  URL.revokeObjectURL(at("preview").src);
  at("preview").src = URL.createObjectURL(file);
  at("preview").hidden = false;
  at("drop-note").textContent = file.name;
  ask();
}

function forgetPicture() {
  picture = null;
  at("picture").value = "";
  at("preview").hidden = true;
  at("drop-note").textContent = "drop a picture here, or choose one";
}

const inBase64 = (file) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => failed(new Error("the picture cannot be read"));
  reader.readAsDataURL(file);
});

async function ask() {
  const question = { reference: at("reference").value };
  at("write").disabled = true;
  say("writing …");
  try {
    if (picture) question.picture = await inBase64(picture);
    else question.text = at("text").value;
    const begun = performance.now();
    const reply = await fetch("api/write", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
    const told = await reply.json();
    if (!reply.ok) throw new Error(told.error);
    show(told.answers);
    say(`${((performance.now() - begun) / 1000).toFixed(2)} s`);
  } catch (error) {
    say(error instanceof TypeError ? "The server does not answer. Is it still running?" : error.message, true);
  }
  at("write").disabled = false;
}

function show(answers) {
  at("answers").replaceChildren(...answers.map((answer) => new AnswerView(answer, runNamed(answer.run), at("answers")).root));
  const traced = answers.filter((answer) => answer.trace);
  at("training").hidden = at("legend").hidden = !traced.length;
  at("choices").hidden = traced.length < 2;
  if (!traced.length) return;
  const buttons = traced.map((answer) => {
    const made = element("button", "", answer.run);
    made.type = "button";
    made.addEventListener("click", () => showTrace(answer.trace, made, buttons));
    return made;
  });
  at("choices").replaceChildren(...buttons);
  showTrace(traced[0].trace, buttons[0], buttons);
}

/* One trace at a time. */
function showTrace(explained, pressed, buttons) {
  for (const each of buttons) each.setAttribute("aria-pressed", String(each === pressed));
  at("training-lead").replaceChildren(...TraceView.lead(explained.settings));
  const view = new TraceView(explained);
  at("trace").replaceChildren(TraceView.texts(explained), view.root);
  view.start();
}

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
at("text").addEventListener("input", forgetPicture);
at("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask();
});
at("picture").addEventListener("change", (event) => choose(event.target.files[0]));
for (const [happening, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
  at("drop").addEventListener(happening, (event) => {
    event.preventDefault();
    at("drop").classList.toggle("over", over);
    if (happening === "drop") choose(event.dataTransfer.files[0]);
  });
}
