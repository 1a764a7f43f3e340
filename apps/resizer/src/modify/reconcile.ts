import { unreachable } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import type { ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import { namespacedRef } from '@csi-sidecars/kube-types'
import { readSecret } from '@csi-sidecars/sidecar'
import { patchClaim } from '../claim/api.ts'
import { recordEvent } from '../claim/events.ts'
import { type ClaimBeginning, reconcileClaim } from '../claim/reconcile.ts'
import { newRun, priorityOf } from '../claim/run.ts'
import { secretRefOf } from '../claim/secret.ts'
import type { ModifyWakeKind } from '../claim/wake-events.ts'
import { decideModify, type ModifyStep } from './decide.ts'
import { MODIFY_EVENTS } from './events.ts'
import { type ModifyView, observeModify } from './observe.ts'
import { cannotRecord, recordFailure } from './record-failure.ts'
import { recordSuccess } from './record-success.ts'
import type { Modification, ModifyDeps, ModifyRun } from './run.ts'

export function reconcileModify(key: string, deps: ModifyDeps, controllerRun: Run<ModifyWakeKind>): Promise<Outcome> {
  const run: ModifyRun = newRun(key, deps, controllerRun)
  run.log.v(4)?.info('Started PVC processing for modify controller')
  return reconcileClaim(run, {
    observe: () => observeModify(key, deps),
    begin: (view: ModifyView) => begin(run, view, decideModify(view)),
    wrapBeginError: (cause) => cannotRecord(key, cause),
    perform: (modification: Modification) => modify(run, modification),
    forget: (claim) => deps.memory.forget(claim),
  })
}

async function begin(
  run: ModifyRun,
  view: ModifyView,
  steps: readonly ModifyStep[],
): Promise<ClaimBeginning<Modification>> {
  const { deps, key, log } = run
  let { claim } = view
  for (const step of steps) {
    switch (step.kind) {
      case 'skip': {
        const message = `skipping volume modification for pvc ${key}, because modification previously failed with infeasible error`
        log.v(4)?.info(message)
        return { outcome: { kind: 'retry', cause: new Error(message) } }
      }
      case 'forgetRefusal':
        deps.memory.infeasibleClaims.remove(key)
        break
      case 'noop':
        if (step.waitsFor !== undefined) run.waitFor(step.waitsFor)
        log.v(4)?.info(step.why)
        return { outcome: SETTLED }
      case 'cancel':
        recordEvent(run, claim, MODIFY_EVENTS.cancelled())
        await patchClaim(run, step.patch)
        return { outcome: SETTLED }
      case 'stall':
        run.waitFor(step.waitsFor)
        recordEvent(run, claim, MODIFY_EVENTS.noClass(step.className))
        return { outcome: { kind: 'retry', cause: new Error(step.message) } }
      case 'pend':
        // `waitFor` is called before the patch, because the class may be created while the patch is sent.
        run.waitFor(step.waitsFor)
        recordEvent(run, claim, MODIFY_EVENTS.noClass(step.className))
        if (step.patch !== undefined) await patchClaim(run, step.patch)
        return { outcome: SETTLED }
      case 'reportDriver': {
        const { target, volumeDriver } = step
        deps.memory.foreignClasses.record(claim.uid, target.uid)
        const drivers = { VolumeAttributesClass: target.key, classDriver: target.driverName, volumeDriver }
        log.warn('VolumeAttributesClass is for another driver', drivers)
        recordEvent(run, claim, MODIFY_EVENTS.driverMismatch(target, volumeDriver))
        break
      }
      case 'start': {
        const away = whileAway(run)
        if (away !== undefined) return away
        deps.notifyCallStarted(key)
        claim = await patchClaim(run, step.patch, priorityOf(run))
        recordEvent(run, claim, MODIFY_EVENTS.started(namespacedRef(claim.key).name, step.className))
        break
      }
      case 'modify':
        return whileAway(run) ?? { work: { claim, volume: step.volume, target: step.target } }
      case 'fail':
        run.waitFor(step.waitsFor)
        return { outcome: { kind: 'retry', cause: new Error(step.message) } }
      default:
        unreachable(step)
    }
  }
  throw new Error('the plan of a modification has no end')
}

/** If the driver is disconnected, ends the run before the claim records the start of a modification. */
function whileAway(run: ModifyRun): { readonly outcome: Outcome } | undefined {
  run.stopWaiting()
  if (!run.deps.driver.lost) return undefined
  return { outcome: { kind: 'retry', cause: new Error('the CSI driver is away') } }
}

async function modify(run: ModifyRun, modification: Modification): Promise<Outcome> {
  const { deps, signal } = run
  try {
    await deps.driver.modify(await modifyRequest(run, modification), { signal })
  } catch (error) {
    return await recordFailure(run, modification, error)
  }
  return await recordSuccess(run, modification)
}

const CLAIM_NAME = 'csi.storage.k8s.io/pvc/name'
const CLAIM_NAMESPACE = 'csi.storage.k8s.io/pvc/namespace'
const VOLUME_NAME = 'csi.storage.k8s.io/pv/name'

/** Returns the request of a modification, with the Secret for modifications or else the Secret for expansions. */
async function modifyRequest(
  { deps, signal }: ModifyRun,
  { claim, volume, target }: Modification,
): Promise<ControllerModifyVolumeRequest> {
  const csi = volume.source?.spec?.csi
  if (!csi?.volumeHandle) throw new Error('empty volume handle')
  const ref = volume.modifySecret ?? secretRefOf(csi.controllerExpandSecretRef)
  const secrets = secretsFrom(await readSecret(deps.api, ref, { signal }))
  const mutableParameters = { ...target.parameters }
  if (deps.extraMetadata) {
    const { namespace, name } = namespacedRef(claim.key)
    Object.assign(mutableParameters, { [CLAIM_NAME]: name, [CLAIM_NAMESPACE]: namespace, [VOLUME_NAME]: volume.key })
  }
  return { volumeId: csi.volumeHandle, secrets, mutableParameters }
}
