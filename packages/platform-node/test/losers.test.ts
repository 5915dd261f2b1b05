import { vi } from "@effect/vitest"
import { thousandLosers } from "../../platform/test/suite/losers.js"
import { lanes, transports } from "./support/clients.js"

// thousands of connections, on a machine that may be busy
vi.setConfig({ testTimeout: 120_000 })

// a hedge that would have to wait until others have their connection is suppressed, and here each is to be sent
const layer = lanes({ connecting: 100 })

for (const transport of transports) thousandLosers({ ...transport, layer }, { clients: 1 })
