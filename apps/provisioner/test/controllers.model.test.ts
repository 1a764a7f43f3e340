import { unreachable } from '@csi-sidecars/base'
import type { InFlight } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { CLAIMS, ProvisionerModel } from '../src/testing/model/provisioner-model.ts'

type Step =
  | { do: 'createClaim' | 'createRestore' | 'deleteClaim' | 'touchClaim'; name: string }
  | { do: 'retain' | 'unretain' | 'stripVolumes'; name: string }
  | { kind: 'answer' | 'apply' | 'fail'; pick: number; fault: number }
  | { do: 'flow'; rounds: number }
  | { do: 'pass'; ms: number }
  | { do: 'deliver' | 'controlVolumes' | 'createClass' | 'deleteClass' | 'late' | 'kill' | 'depose' | 'start' }
  | { do: 'recreateInputs' | 'foreignClass' | 'deleteInputs' }

const one = <const K extends string>(name: K): { do: fc.Arbitrary<K> } => ({ do: fc.constant(name) })
const flight = { pick: fc.nat(5), fault: fc.nat(99) }
const name = fc.constantFrom(...CLAIMS)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ...one('createClaim'), name }) },
  { weight: 2, arbitrary: fc.record({ ...one('createRestore'), name }) },
  { weight: 4, arbitrary: fc.record({ ...one('deleteClaim'), name }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('touchClaim', 'retain', 'unretain', 'stripVolumes'), name }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('recreateInputs', 'foreignClass', 'deleteInputs') }) },
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

/** Delivers every event and answers the oldest request, several times. */
async function flow(model: ProvisionerModel, rounds: number): Promise<void> {
  for (let left = rounds; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    model.flightAt(0)?.answer()
    await model.clock.settle()
  }
}

async function perform(model: ProvisionerModel, each: Step): Promise<void> {
  switch (each.do) {
    case 'createClaim':
      return model.createClaim(each.name)
    case 'createRestore':
      return model.createClaim(each.name, true)
    case 'deleteClaim':
      return model.deleteClaim(each.name)
    case 'touchClaim':
      return model.touchClaim(each.name)
    case 'retain':
      return model.retain(each.name)
    case 'unretain':
      return model.unretain(each.name)
    case 'stripVolumes':
      return model.stripVolumes(each.name)
    case 'recreateInputs':
      return model.recreateInputs()
    case 'foreignClass':
      return model.recreateInputs('other.example.com')
    case 'deleteInputs':
      return model.deleteInputs()
    case 'answer':
      return model.flightAt(each.pick)?.answer()
    case 'apply':
      return model.flightAt(each.pick)?.apply()
    case 'fail': {
      const found = model.flightAt(each.pick)
      return found && model.failFlight(found, each.fault)
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
      return model.continueCreations()
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

/** The interval of the search for finalizers of forgotten restores. */
const SWEEP_MS = 300_000

async function run(steps: readonly Step[], finalizeClaims: boolean): Promise<void> {
  const model = new ProvisionerModel({ finalizeClaims, sweepMs: SWEEP_MS })
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

/** Answers the oldest requests up to the first request whose label `is` accepts. Returns this request unanswered. */
async function reach(model: ProvisionerModel, is: (label: string) => boolean): Promise<InFlight> {
  for (let left = 30; left > 0; left -= 1) {
    model.process?.deliver()
    await model.clock.settle()
    const flight = model.flightAt(0)
    if (flight !== undefined && is(flight.label)) return flight
    flight?.answer()
  }
  throw new Error('no such request was sent')
}

const RUNS = Number(process.env['MODEL_RUNS'] ?? 150)
const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' })

describe('random model', () => {
  it('after random steps, the provisioner with --finalize-claims has provided each claim and leaked no volume', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (each) => run(each, true)),
      { numRuns: RUNS },
    )
  }, 600_000)

  it('the provisioner repeats a failed removal of its finalizer from a claim, even if no event follows', async () => {
    const model = new ProvisionerModel({ finalizeClaims: true })
    model.start()
    model.createClaim('a')
    const release = await reach(model, (label) => model.volumes.length > 0 && label.startsWith('replace'))
    model.failFlight(release, 4)
    model.process?.gate.open()
    await model.clock.advance(60_000)
    expect(model.claim('a')?.metadata?.finalizers).toEqual(['kubernetes.io/pvc-protection'])
    model.kill()
  })

  it('after random steps, the provisioner has provided each claim, and leaks a volume only if a process was killed', async () => {
    await fc.assert(
      fc.asyncProperty(steps, (each) => run(each, false)),
      { numRuns: RUNS },
    )
  }, 600_000)
})
