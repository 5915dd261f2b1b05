import { vi } from "@effect/vitest"
import { outage } from "./suite/outage.js"
import { undiciHttp1 } from "./support/clients.js"

// a thousand calls, on a machine that may be busy
vi.setConfig({ testTimeout: 120_000 })

outage(undiciHttp1)
