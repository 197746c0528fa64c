/* The page of `bangbang explain`: a trace, or targets. */

at("eyebrow").textContent = `bangbang explain · ${record.run} · ${record.checkpoint}`;
if (record.target) {
  at("title").textContent = "Who chose each word?";
  at("lead").append(...TraceView.lead(record.settings));
  const view = new TraceView(record);
  at("content").append(TraceView.texts(record), view.root);
  view.start();
} else {
  at("title").textContent = "What would each method train on?";
  at("lead").append(TargetsView.lead(record.methods));
  at("content").append(TargetsView.texts(record), new TargetsView(record, at("drawings").content).root);
}
at("footer").append(
  element("p", "", `Reward: ${record.reward.join(" + ")}; R(z | y) is the first of these. Seed ${record.seed}: another --seed draws another target.`),
  element("p", "", "After Ding & Soricut, “Cold-Start Reinforcement Learning with Softmax Policy Gradient”, NeurIPS 2017."));
