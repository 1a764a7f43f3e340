import { CODES, RpcError } from '@csi-sidecars/csi'
import { VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { apiError } from '../src/testing/fixture.ts'
import { Model } from '../src/testing/model.ts'

const PERIOD_MS = 100_000
/** The runs of one key in this time with pauses of 1, 2, 4, 8, 16, 32 and 60 seconds, and two for events. */
const MAX_RUNS = 9
/** The annotation is written and removed around each call. A message is stored once for each phase. */
const MAX_WRITES = 2 * MAX_RUNS + 3

/** The request that fails at each attempt. */
type Failing =
  | 'CreateSnapshot'
  | 'DeleteSnapshot'
  | 'status'
  | 'removeBeingCreated'
  | 'addBeingCreated'
  | 'clear'
  | 'release'

interface LastingError {
  readonly failing: Failing
  readonly code: number
  readonly retryAfterMs: number | undefined
  /** The order of an answer and the watch event of the same write, for each write in turn. */
  readonly eventsFirst: readonly boolean[]
}

const lastingError: fc.Arbitrary<LastingError> = fc.record({
  failing: fc.constantFrom<Failing>(
    'CreateSnapshot',
    'DeleteSnapshot',
    'status',
    'removeBeingCreated',
    'addBeingCreated',
    'clear',
    'release',
  ),
  code: fc.constantFrom(...Object.values(CODES).filter((code) => code !== CODES.OK)),
  retryAfterMs: fc.constantFrom(undefined, 0, -1),
  eventsFirst: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
})

async function check({ failing, code, retryAfterMs, eventsFirst }: LastingError): Promise<void> {
  const model = await Model.begin()
  const fail = (): never => {
    throw new RpcError(code, 'no', retryAfterMs === undefined ? {} : { retryAfterMs })
  }
  model.scripts.set(failing, fail)
  const refusals = Array.from({ length: 100 }, () => apiError(500, 'InternalError', 'no'))
  model.refusals.set(failing, refusals)
  model.createContent('a', { policy: 'Delete', again: false })
  await pump(model, { forMs: 0, eventsFirst })
  if (['DeleteSnapshot', 'clear', 'release'].includes(failing)) model.removeContent('a')
  await pump(model, { forMs: 0, eventsFirst })
  model.wire.splice(0)
  await pump(model, { forMs: PERIOD_MS, eventsFirst })
  const calls = model.wire.filter((each) => each.endsWith('Snapshot')).length
  const writes = model.wire.length - calls
  model.checkAlways()
  if (model.contentOf('a') === undefined) throw new Error('the content is gone despite the error')
  if (calls > MAX_RUNS || writes > MAX_WRITES) {
    throw new Error(`${calls} calls and ${writes} writes: ${model.wire.slice(0, 40).join(' ')}`)
  }
}

/** Answers all requests and delivers all events for this time, in both orders. */
async function pump(
  model: Model,
  { forMs, eventsFirst }: { readonly forMs: number; readonly eventsFirst: readonly boolean[] },
): Promise<void> {
  const end = model.clock.monotonic() + forMs
  let nth = 0
  do {
    for (let flight = model.flightAt(0); flight !== undefined; flight = model.flightAt(0)) {
      const isEventFirst = eventsFirst[nth % eventsFirst.length] === true
      nth += 1
      if (isEventFirst) {
        flight.apply()
        await model.clock.settle()
        model.running.deliver()
        await model.clock.settle()
      }
      if (model.flightAt(0) === flight) flight.answer()
      await model.clock.settle()
      model.running.deliver()
      await model.clock.settle()
    }
    model.running.deliver()
    await model.clock.advance(1_000)
  } while (model.clock.monotonic() < end)
}

/** The number of random runs, as in `model.test.ts`. */
const numRuns = Number(process.env['MODEL_RUNS'] ?? 30)
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101)

describe('a lasting error', () => {
  it('calls and writes for a lasting error are as rare as the back-off permits, in any order of events', async () => {
    await fc.assert(fc.asyncProperty(lastingError, check), { numRuns, seed })
  }, 600_000)

  it('a content that other clients write all the time still waits for its back-off', async () => {
    const model = await Model.begin()
    model.scripts.set('CreateSnapshot', () => {
      throw new RpcError(CODES.Internal, 'no')
    })
    model.createContent('a', { policy: 'Delete', again: false })
    await pump(model, { forMs: 0, eventsFirst: [false] })
    model.wire.splice(0)
    for (let nth = 0; nth < 60; nth += 1) {
      model.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name: 'a' }, { metadata: { finalizers: [`example.com/f-${nth}`] } })
      await pump(model, { forMs: 1_000, eventsFirst: [false] })
    }
    const calls = model.wire.filter((each) => each === 'CreateSnapshot').length
    if (calls > MAX_RUNS) throw new Error(`${calls} calls`)
  })
})
