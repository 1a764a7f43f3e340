import { AGAIN, WORK_COMPLETED } from '@csi-sidecars/controller'
import { expect, it } from '@jest/globals'
import { SNAPSHOT_NAMES } from '../caches/names.ts'
import { DRIVER, vsc } from '../testing/objects.ts'
import { NotReadyError } from './failure.ts'
import { SNAPSHOT } from './kinds.ts'
import { outcomeOf } from './outcome.ts'

const deletion = {
  deletionTimestamp: '2026-01-01T00:00:00Z',
  annotations: { [SNAPSHOT_NAMES.beingDeleted]: 'yes' },
}

it.each<[name: string, change: object, outcome: unknown]>([
  ['a ready snapshot completes the work', { status: { readyToUse: true } }, WORK_COMPLETED],
  [
    'a deletion that was requested meanwhile follows at once',
    { metadata: deletion, status: { readyToUse: true } },
    AGAIN,
  ],
  [
    'a snapshot that is not ready is asked for again after the back-off',
    { status: { readyToUse: false } },
    { kind: 'retry', cause: expect.any(NotReadyError) },
  ],
])('%s', (_, change, outcome) => {
  const content = SNAPSHOT.project(DRIVER)(vsc('c', change))
  if (content === undefined) throw new Error('the object is not cached')
  expect(outcomeOf(content)).toEqual(outcome)
})
