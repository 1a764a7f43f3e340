import type { Clock } from '@csi-sidecars/base'
import type { ApiServer, FaultAction, FaultMatch } from '@csi-sidecars/emulator'
import type { ApiFault } from './action.ts'

/** The number of API requests that a fault affects. */
const TIMES = 6

/** The time for which the API server is unreachable. */
const AWAY_MS = 2_000

const WRITES: readonly NonNullable<FaultMatch['verb']>[] = ['create', 'patch', 'delete']

/** Injects a fault into the next requests to the API server. */
export function breakApi(api: ApiServer, how: ApiFault, clock: Clock): void {
  switch (how) {
    case 'conflict':
      injectFault(api, ['patch'], { do: 'answer', code: 409, reason: 'Conflict' })
      return
    case 'tooMany':
      injectFault(api, WRITES, { do: 'answer', code: 429, retryAfterSeconds: 1 })
      return
    case 'internal':
      injectFault(api, WRITES, { do: 'answer', code: 500 })
      return
    case 'lostAnswer':
      injectFault(api, WRITES, { do: 'cut', applied: true })
      return
    case 'slow':
      injectFault(api, [...WRITES, 'get'], { do: 'delay', ms: 200 })
      return
    case 'dropWatches':
      api.dropWatches({ how: 'cut' })
      return
    case 'compact':
      api.compact()
      api.dropWatches()
      return
    case 'away': {
      const { remove } = api.faults.add({ action: { do: 'cut' } })
      api.dropWatches({ how: 'cut' })
      clock.schedule(AWAY_MS, remove)
      return
    }
  }
}

function injectFault(api: ApiServer, verbs: readonly NonNullable<FaultMatch['verb']>[], action: FaultAction): void {
  for (const verb of verbs) api.faults.add({ match: { verb }, times: TIMES, share: 0.5, action })
}
