/**
 * Runs the scenarios of a suite at the same time, because they mostly wait, and tells each under its own title. To be called
 * behind the `before` that makes what they share; a scenario cleans up nothing that others use. One that gives `unable` is
 * listed as pending.
 */
export function sideBySide(scenarios: Record<string, () => Promise<'unable' | void>>): void {
  const running = new Map<string, Promise<'unable' | void>>();
  before(() => {
    for (const [title, run] of Object.entries(scenarios)) {
      const outcome = run();
      outcome.catch(() => undefined); // its own test tells
      running.set(title, outcome);
    }
  });
  for (const title of Object.keys(scenarios))
    it(title, async function () {
      if ((await running.get(title)) === 'unable') this.skip();
    });
}
