import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { Capabilities, DriverOptions, FakeDriver } from '../../harness/driver/driver.ts'
import { type Answers, answer, made, type Of } from '../actions.ts'
import { type Action, rowsOf } from '../row.ts'
import {
  ask,
  type BoundParts,
  createBoundClaim,
  createTier,
  editClaim,
  kubeletFinishes,
  statusWord,
  untilClaim,
  usedBy,
} from './scene.ts'

interface ResizerSetup {
  readonly args?: readonly string[]
  readonly controller?: Capabilities['controller']
  readonly node?: Capabilities['node']
  readonly answers?: Answers
  /** More parts of the driver. */
  readonly driver?: Partial<DriverOptions>
  /** True if a step of the row starts the resizer. */
  readonly startsLater?: true
}

/** The driver and the setup of one row about the resizer. Each action of the row receives them. */
export interface RowScene {
  readonly driver: FakeDriver
  readonly setup: ResizerSetup
}

const WATCHES = ['persistentvolumeclaims', 'persistentvolumes']

/** Returns a function that adds a row about the resizer. */
export function resizerRows(group: string, file: string) {
  return rowsOf<RowScene, ResizerSetup>({ app: 'resizer', scene: begin, laterWork }, { group, file })
}

async function begin(t: TestContext, setup: ResizerSetup): Promise<RowScene> {
  const { answers, controller = ['EXPAND_VOLUME'], node = [] } = setup
  if (controller.includes('MODIFY_VOLUME')) for (const tier of ['gold', 'silver']) await createTier(t, tier)
  const driver = await t.driver({ controller, node, ...setup.driver })
  answer(driver, answers)
  await t.createClass()
  const at = { driver, setup }
  if (setup.startsLater !== true) await started.run(t, at)
  return at
}

const GATE_OFF = '--feature-gates=VolumeAttributesClass=false'

function modifies({ controller = [], args = [] }: ResizerSetup): boolean {
  return controller.includes('MODIFY_VOLUME') && !args.includes(GATE_OFF)
}

function watchesOf(setup: ResizerSetup): readonly string[] {
  return modifies(setup) ? [...WATCHES, 'volumeattributesclasses'] : WATCHES
}

/** Changes another claim, and waits until the resizer has stored the result. */
async function laterWork(t: TestContext, { driver, setup }: RowScene, suffix: string): Promise<void> {
  const { pvc } = await createBoundClaim(t, { suffix: `-${suffix}`, pv: { csi: { driver: driver.name } } })
  const { controller = ['EXPAND_VOLUME'], node = [] } = setup
  if (controller.includes('EXPAND_VOLUME') || node.includes('EXPAND_VOLUME')) await ask(t, '2Gi', pvc)
  else await editClaim(t, { spec: { volumeAttributesClassName: t.name('gold') } }, pvc)
  await untilClaim(t, (claim) => isDone(claim, t.name('gold')), pvc)
}

function isDone(claim: PersistentVolumeClaim, gold: string): boolean {
  const { capacity, currentVolumeAttributesClassName } = claim.status ?? {}
  return (
    capacity?.['storage'] === '2Gi' ||
    statusWord(claim) === 'NodeResizePending' ||
    currentVolumeAttributesClassName === gold
  )
}

/** Creates a claim that is bound to a volume of 1Gi. */
export function boundClaim(fields: Of<BoundParts> = {}): Action<unknown> {
  return { name: 'create a bound claim', run: (t) => createBoundClaim(t, made(t, fields)) }
}

export function asked(size: string, suffix = ''): Action<unknown> {
  return { name: `request ${size}`, run: (t) => ask(t, size, t.name(`pvc${suffix}`)) }
}

/** Creates a bound claim, and requests a larger size. */
export function raised({
  to = '2Gi',
  of = {},
}: {
  readonly to?: string
  readonly of?: Of<BoundParts>
} = {}): Action<unknown> {
  return {
    name: `create a bound claim, request ${to}`,
    run: async (t) => {
      const { pvc } = await createBoundClaim(t, made(t, of))
      await ask(t, to, pvc)
    },
  }
}

/** Requests the VolumeAttributesClass of this tier; null withdraws the request. */
export function requestedClass(tier: string | null, suffix = ''): Action<unknown> {
  const volumeAttributesClassName = (t: TestContext): string | null => (tier === null ? null : t.name(tier))
  return {
    name: `request class ${tier}`,
    run: (t) =>
      editClaim(t, { spec: { volumeAttributesClassName: volumeAttributesClassName(t) } }, t.name(`pvc${suffix}`)),
  }
}

/** Edits the claim in one request. */
export function edited(suffix: string, body: Of<object>): Action<unknown> {
  return { name: suffix, run: (t) => editClaim(t, made(t, body)) }
}

/** The kubelet reports that it has expanded the file system. */
export function kubeletFinished(size: string): Action<unknown> {
  return { name: `the kubelet finishes ${size}`, run: (t) => kubeletFinishes(t, size) }
}

/** Creates a pod that uses a claim, and waits until the resizer knows. */
export function podCreated(suffix = 'pod', claimSuffix = ''): Action<unknown> {
  return { name: `create Pod ${suffix}`, run: (t) => usedBy(t, suffix, t.name(`pvc${claimSuffix}`)) }
}

export const started: Action<RowScene> = {
  name: 'start the resizer',
  run: (t, { driver, setup }) => t.running({ driver, args: setup.args ?? [] }, ...watchesOf(setup)),
}
