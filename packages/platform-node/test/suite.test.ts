/** What holds for every client, over lanes. */
import { vi } from "@effect/vitest"
import { bodies } from "../../platform/test/suite/bodies.js"
import { eventsGivenUp, manyEventLosers } from "../../platform/test/suite/eventLosers.js"
import { hedgedEvents } from "../../platform/test/suite/events.js"
import { someLosers } from "../../platform/test/suite/losers.js"
import { outage } from "../../platform/test/suite/outage.js"
import { allFail, goAwayInFlight, transportErrors } from "../../platform/test/suite/outcomes.js"
import { scopes } from "../../platform/test/suite/scopes.js"
import { winnersBody } from "../../platform/test/suite/winner.js"
import { lanesHttp2, transports } from "./support/clients.js"

// a thousand calls, on a machine that may be busy
vi.setConfig({ testTimeout: 120_000 })

for (const transport of transports) {
  winnersBody(transport)
  someLosers(transport)
  bodies(transport)
  allFail(transport)
  transportErrors(transport)
  scopes(transport)
  outage(transport)
  hedgedEvents(transport)
  manyEventLosers(transport)
  eventsGivenUp(transport)
}
goAwayInFlight(lanesHttp2)
