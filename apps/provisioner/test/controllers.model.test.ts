import { unreachable } from '@csi-sidecars/base'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, it } from '@jest/globals'
import fc from 'fast-check'
import { CLAIMS, ProvisionerModel } from '../src/testing/model/provisioner-model.ts'

/** Answers of the API server, and no answer. */
const API_FAULTS = [
  { code: 0, reason: '', message: 'connection reset', outcomeUnknown: true },
  { code: 409, reason: 'Conflict', message: 'the object has been modified' },
  { code: 422, reason: 'Invalid', message: 'no' },
  { code: 403, reason: 'Forbidden', message: 'no' },
  { code: 500, reason: 'InternalError', message: 'etcd is away' },
] as const
/** After these the driver may continue the creation. */
const NOT_FINAL = ['DeadlineExceeded', 'Unavailable', 'Aborted', 'Canceled'] as const satisfies readonly CodeName[]
const FINAL = ['Internal', 'InvalidArgument', 'ResourceExhausted'] as const satisfies readonly CodeName[]

type Step =
  | { do: 'createClaim' | 'deleteClaim' | 'touchClaim' | 'retain'; name: string }
  | { do: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { do: 'flow'; rounds: number }
  | { do: 'pass'; ms: number }
  | { do: 'deliver' | 'controlVolumes' | 'createClass' | 'deleteClass' | 'late' | 'kill' | 'depose' | 'start' }

const one = <const K extends string>(name: K): { do: fc.Arbitrary<K> } => ({ do: fc.constant(name) })
const flight = { pick: fc.nat(5), fault: fc.nat(99) }
const name = fc.constantFrom(...CLAIMS)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...one('createClaim'), name }) },
  { weight: 4, arbitrary: fc.record({ ...one('deleteClaim'), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('touchClaim', 'retain'), name }) },
  { weight: 6, arbitrary: fc.record({ ...one('answer'), ...flight }) },
  { weight: 3, arbitrary: fc.record({ ...one('apply'), ...flight }) },
  { weight: 4, arbitrary: fc.record({ ...one('fail'), ...flight }) },
  { weight: 8, arbitrary: fc.record({ ...one('flow'), rounds: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ ...one('pass'), ms: fc.constantFrom(500, 2_000, 61_000) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('deliver', 'controlVolumes', 'controlVolumes') }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('createClass', 'deleteClass', 'late', 'kill', 'depose', 'start') }),
  },
)

function picked(model: ProvisionerModel, pick: number): InFlight | undefined {
  const flights = model.process?.gate.inFlight ?? []
  return flights[pick % flights.length]
}

/** Fails a request or a call. A call without a final answer may be continued by the driver. */
function fail(model: ProvisionerModel, { label, applied, answer }: InFlight, fault: number): void {
  if (!label.startsWith('call ')) {
    const { code, reason, message } = API_FAULTS[fault % API_FAULTS.length] ?? API_FAULTS[0]
    const outcomeUnknown = code === 0
    // The server answers a refusal only if the request has not taken effect.
    if (applied && code !== 0) return answer()
    return answer(new ApiError({ code, reason, message, outcomeUnknown }))
  }
  const [, method, volume = ''] = label.split(' ')
  const isFinal = fault % 2 === 0 && !applied && model.storage.handleOf(volume) === undefined
  const codes: readonly CodeName[] = isFinal ? FINAL : NOT_FINAL
  const code = codes[fault % codes.length] ?? 'Internal'
  if (method === 'create') {
    if (isFinal) model.storage.late.delete(volume)
    else if (!applied && fault % 3 === 0) model.storage.late.add(volume)
  }
  answer(new RpcError(CODES[code], 'no'))
}

/** Delivers every event and answers the oldest request, several times. */
async function flow(model: ProvisionerModel, rounds: number): Promise<void> {
  for (let left = rounds; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    picked(model, 0)?.answer()
    await model.clock.settle()
  }
}

async function perform(model: ProvisionerModel, each: Step): Promise<void> {
  switch (each.do) {
    case 'createClaim':
      return model.createClaim(each.name)
    case 'deleteClaim':
      return model.deleteClaim(each.name)
    case 'touchClaim':
      return model.touchClaim(each.name)
    case 'retain':
      return model.retain(each.name)
    case 'answer':
      return picked(model, each.pick)?.answer()
    case 'apply':
      return picked(model, each.pick)?.apply()
    case 'fail': {
      const found = picked(model, each.pick)
      return found && fail(model, found, each.fault)
    }
    case 'flow':
      return await flow(model, each.rounds)
    case 'pass':
      return await model.clock.advance(each.ms)
    case 'deliver':
      return model.process?.deliver()
    case 'controlVolumes':
      return model.controlVolumes()
    case 'createClass':
      return model.createClass()
    case 'deleteClass':
      return model.deleteClass()
    case 'late':
      for (const volume of [...model.storage.late]) model.storage.create(volume)
      return
    case 'kill':
      return model.kill()
    case 'depose':
      return model.depose()
    case 'start':
      return model.start()
    default:
      return unreachable(each)
  }
}

async function run(steps: readonly Step[], finalizeClaims: boolean): Promise<void> {
  const model = new ProvisionerModel({ finalizeClaims })
  model.start()
  await flow(model, 4)
  for (const each of steps) {
    await perform(model, each)
    await model.clock.settle()
    model.checkAlways()
  }
  await model.calmDown()
  model.checkConverged({ leaksAllowed: model.hasCrashed && !finalizeClaims })
  model.kill()
}

const RUNS = Number(process.env['MODEL_RUNS'] ?? 150)
const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' })

describe('the provisioner, whatever happens', () => {
  it('provides each claim with a volume and leaks none with --finalize-claims', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (each) => run(each, true)),
      { numRuns: RUNS },
    )
  }, 600_000)

  it('provides each claim with a volume, and leaks one only if a process is killed', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (each) => run(each, false)),
      { numRuns: RUNS },
    )
  }, 600_000)
})
