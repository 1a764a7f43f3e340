import { describe, expect, it } from '@jest/globals'
import { ProvisionerModel } from '../src/testing/model/provisioner-model.ts'

/** The disturbances that can replace the next answer of the API server or the driver. */
const DISTURBANCES: Readonly<Record<string, (model: ProvisionerModel) => void | Promise<void>>> = {
  'the process dies before the request takes effect': async (model) => {
    model.kill()
    await begin(model)
  },
  'the process dies after the request took effect': async (model) => {
    model.flightAt(0)?.apply()
    await model.clock.settle()
    model.kill()
    await begin(model)
  },
  'the lease goes to another process': async (model) => {
    model.flightAt(0)?.apply()
    model.depose()
    await begin(model)
  },
  'the answer is lost': async (model) => {
    const flight = model.flightAt(0)
    flight?.apply()
    await model.clock.settle()
    // Fault 0 is a lost connection of an API request. Fault 1 is a CSI error after which the driver may continue.
    if (flight !== undefined && model.flightAt(0) === flight) fail(model, 0, 1)
  },
  'the request is refused, or the call has failed': (model) => fail(model, 2, 2),
  'the request conflicts, or the driver continues the call': (model) => fail(model, 1, 9),
  'the user deletes the claim': (model) => model.deleteClaim('a'),
  'the user deletes the claim and creates it again': (model) => {
    model.deleteClaim('a')
    model.controlVolumes()
    model.createClaim('a')
  },
  'the user retains the volume': (model) => model.retain('a'),
  'the class is deleted': (model) => model.deleteClass(),
  'a retry is due': (model) => model.clock.advance(2_000),
  'the PV controller looks': (model) => model.controlVolumes(),
}

function fail(model: ProvisionerModel, request: number, call: number): void {
  const flight = model.flightAt(0)
  if (flight !== undefined) model.failFlight(flight, flight.label.startsWith('call ') ? call : request)
}

/** Starts a process and fills its caches. */
async function begin(model: ProvisionerModel): Promise<void> {
  model.start()
  for (let list = 0; list < 4; list += 1) {
    await model.clock.settle()
    model.process?.deliver()
    for (const flight of [...(model.process?.gate.inFlight ?? [])]) if (flight.label.startsWith('list')) flight.answer()
  }
}

/** The step in which the user deletes the claim. An undisturbed creation has ended before this step. */
const DELETED_AT = 10
const MAX_STEPS = 40

interface Disturbance {
  readonly at: number
  readonly name: string
}

interface Life {
  readonly finalizeClaims: boolean
  /** True if the process gets no watch events until the end. */
  readonly lags?: boolean
}

/** Creates and deletes one claim under these disturbances. Returns the requests and calls that were answered. */
async function live(disturbances: readonly Disturbance[], { finalizeClaims, lags = false }: Life): Promise<string[]> {
  const model = new ProvisionerModel({ finalizeClaims })
  await begin(model)
  model.createClaim('a')
  const answered: string[] = []
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (!lags || step === 0) model.process?.deliver()
    await model.clock.settle()
    const disturbance = disturbances.find(({ at }) => at === step)
    const flight = model.flightAt(0)
    if (disturbance !== undefined) await DISTURBANCES[disturbance.name]?.(model)
    else if (step === DELETED_AT) model.deleteClaim('a')
    else if (flight === undefined) {
      model.controlVolumes()
      if (step > DELETED_AT + 10) break
    } else {
      answered.push(flight.label)
      flight.answer()
    }
    await model.clock.settle()
    model.checkAlways()
  }
  await model.calmDown()
  model.checkConverged({ leaksAllowed: model.hasCrashed && !finalizeClaims })
  model.kill()
  return answered
}

async function survives(disturbances: readonly Disturbance[], life: Life): Promise<void> {
  await live(disturbances, life).catch((cause: unknown) => {
    const disturbancesText = disturbances.map(({ at, name }) => `${name} at step ${at}`).join(', ')
    throw new Error(`${disturbancesText}${life.lags === true ? ', with late events' : ''}`, { cause })
  })
}

/** True if `MODEL_RUNS` is set. All combinations then run, which takes minutes. */
const LONG = process.env['MODEL_RUNS'] !== undefined
const STEPS = Array.from({ length: 22 }, (_, index) => index)
const ALL = Object.keys(DISTURBANCES)
/** The first disturbances of the combinations of two disturbances. */
const COMBINED = [
  'the user deletes the claim',
  'the process dies after the request took effect',
  'the answer is lost',
  'the user deletes the claim and creates it again',
  'the request conflicts, or the driver continues the call',
]

describe.each([true, false])('finalizeClaims: %s', (finalizeClaims) => {
  it('without disturbances, the provisioner creates and deletes a volume with the expected requests', async () => {
    const answered = await live([], { finalizeClaims })
    const marks = finalizeClaims ? ['get persistentvolumeclaims', 'replace persistentvolumeclaims'] : []
    const kinds = answered.map((label) => label.replace(/namespaces\/\w+\/|\/\w.*| (pvc|vol)-.*/g, ''))
    expect(kinds).toEqual([
      'get secrets',
      'get volumeattributesclasses',
      ...marks,
      'call create',
      'create persistentvolumes',
      ...marks,
      'get persistentvolumes',
      'get secrets',
      'get persistentvolumes',
      'call delete',
      'delete persistentvolumes',
      'get persistentvolumes',
      'patch persistentvolumes',
    ])
  })

  it.each(ALL)('the provisioner recovers from this disturbance at each step: %s', async (name) => {
    for (const at of STEPS) {
      await survives([{ at, name }], { finalizeClaims })
      if (finalizeClaims || LONG) await survives([{ at, name }], { finalizeClaims, lags: true })
    }
  })

  if (!finalizeClaims && !LONG) return

  it.each(COMBINED.slice(0, LONG ? undefined : 1))(
    'the provisioner recovers from this disturbance if a second disturbance follows: %s',
    async (first) => {
      for (const second of ALL) {
        for (const at of STEPS.slice(0, DELETED_AT + 6)) {
          for (const gap of LONG ? [1, 2, 4] : [2]) {
            const both = [
              { at, name: first },
              { at: at + gap, name: second },
            ]
            await survives(both, { finalizeClaims })
          }
        }
      }
    },
    120_000,
  )
})
