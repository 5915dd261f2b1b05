import { vi } from "@effect/vitest"
import { someLosers, thousandLosers } from "./suite/losers.js"
import { transports, undiciHttp1, undiciHttp2 } from "./support/clients.js"

// thousands of connections, on a machine that may be busy
vi.setConfig({ testTimeout: 120_000 })

thousandLosers(undiciHttp1, { clients: 1 })
// Node's server ends a connection with more resets
thousandLosers(undiciHttp2, { clients: 2 })
transports.filter((transport) => transport !== undiciHttp1 && transport !== undiciHttp2).forEach(someLosers)
