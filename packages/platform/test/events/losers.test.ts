import { eventsGivenUp, manyEventLosers, someEventLosers } from "../suite/eventLosers.js"
import { transports, undiciHttp1, undiciHttp2 } from "../support/clients.js"

manyEventLosers(undiciHttp1)
manyEventLosers(undiciHttp2)
transports
  .filter((transport) => transport !== undiciHttp1 && transport !== undiciHttp2)
  .forEach(someEventLosers)
transports.forEach(eventsGivenUp)
