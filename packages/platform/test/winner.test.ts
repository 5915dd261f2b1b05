import { winnersBody } from "./suite/winner.js"
import { transports } from "./support/clients.js"

transports.forEach(winnersBody)
