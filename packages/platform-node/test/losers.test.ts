import { vi } from "@effect/vitest"
import { thousandLosers } from "../../platform/test/suite/losers.js"
import { transports } from "./support/clients.js"

// thousands of connections, on a machine that may be busy
vi.setConfig({ testTimeout: 120_000 })

for (const transport of transports) thousandLosers(transport, { clients: 1 })
