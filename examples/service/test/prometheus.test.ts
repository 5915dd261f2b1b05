/** Asks a real Prometheus what it knows of the service after a run of which all is known. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeWithPrometheus } from "./support/installed.js"
import { prometheus } from "./support/prometheus.js"
import { known, run } from "./support/run.js"
import { service } from "./support/service.js"
import { upstream } from "./support/upstream.js"

const dashboards = new URL("../dashboards/", import.meta.url)

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

const { panels }: { readonly panels: ReadonlyArray<Panel> } = JSON.parse(
  readFileSync(new URL("grafana.json", dashboards), "utf8")
)

/** An expression of a dashboard as Grafana would send it, with everything selected. */
const expanded = (expr: string) =>
  expr.replaceAll("$__rate_interval", "10m").replaceAll("$job", ".*").replaceAll("$policy", ".*")

const expressionsOf = (title: string): ReadonlyArray<string> =>
  panels.find((panel) => panel.title === title)!.targets!.map(({ expr }) => expanded(expr))

const rules = fileURLToPath(new URL("alerts.yml", dashboards))

describeWithPrometheus("Prometheus", () => {
  it.scoped("answers an operator's four questions, over the life of the process and on the dashboard", () =>
    Effect.gen(function* () {
      const server = yield* upstream
      const quotes = yield* service({ upstream: server.url })
      const asked = yield* prometheus({ target: quotes.url, rules })
      // what it has seen at zero it can tell the growth of
      yield* asked.reaches("sum(hedge_calls_total)", 0)
      yield* run(server, quotes)
      yield* asked.reaches("sum(hedge_attempts_total)", known.requests)
      assert.strictEqual(server.requests(), known.requests)

      const life = [
        "sum(hedge_calls_hedged_total) / sum(hedge_calls_total)",
        'sum(hedge_wins_total{role="hedge"}) / sum(hedge_calls_hedged_total)',
        "sum(hedge_loser_duration_sum) / sum(hedge_loser_duration_count)",
        "sum(hedge_attempts_total) / sum(hedge_calls_total)"
      ]
      const dashboard = panels.slice(1, 5).map(({ title }) => expressionsOf(title)[0]!)
      for (const questions of [life, dashboard]) {
        const [sent, won, losers, requests] = yield* Effect.forEach(questions, (expr) => asked.value(expr))
        expect(sent).toBeCloseTo(known.hedged / known.calls, 9)
        expect(won).toBeCloseTo(known.hedgeWins / known.hedged, 9)
        expect(losers).toBeCloseTo(known.losers / known.hedged, 9)
        expect(requests).toBeCloseTo(known.requests / known.calls, 9)
      }

      // every panel has something to show, and every rule can be evaluated
      for (const { targets = [], title } of panels) {
        for (const { expr } of targets) {
          assert.isNotEmpty(yield* asked.query(expanded(expr)), `${title}: ${expr}`)
        }
      }
      const evaluated = yield* asked.rules
      assert.sameMembers(
        evaluated.map(({ name, health }) => `${name} ${health}`),
        ["HedgesRarelyWin ok", "HedgeBudgetEmpty ok", "HedgingSuspended ok"]
      )
    })
  )
})
