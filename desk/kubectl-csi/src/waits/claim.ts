import { Quantity } from '@csi-sidecars/kube-types'
import { type ClaimContext, foreignFinalizers, type WaitingClaim } from './claim-context.ts'
import { failingOr, type ObjectWait, type WaitOf, withMessage } from './wait.ts'

/** Returns why a claim waits, in the order in which the reasons end. Empty if the claim has all that it requests. */
export function claimWaits(claim: WaitingClaim, context: ClaimContext): readonly ObjectWait[] {
  const object = { kind: 'claim', name: claim.name } as const
  const lost = lostVolume(claim, context)
  if (lost !== undefined) return [...ending(claim, context), lost].map((wait) => ({ ...wait, object }))
  const rest = binding(claim, context) ?? [...resize(claim, context), ...modification(claim, context)]
  return [...ending(claim, context), ...rest].map((wait) => ({ ...wait, object }))
}

function lostVolume({ phase }: WaitingClaim, { volume, volumeGone }: ClaimContext): WaitOf | undefined {
  if (phase !== 'Lost' && !(phase === 'Bound' && volume === undefined && volumeGone === true)) return undefined
  return { reason: 'VolumeMissing', on: 'persistent-volume' }
}

const PROTECTION = 'kubernetes.io/pvc-protection'

function ending({ deleting, finalizers }: WaitingClaim, { pods }: ClaimContext): readonly WaitOf[] {
  if (!deleting) return []
  const foreign = foreignFinalizers(finalizers)
  const others: WaitOf[] = foreign.length === 0 ? [] : [{ reason: 'ForeignFinalizer', on: 'you', names: foreign }]
  if (finalizers !== undefined && !finalizers.includes(PROTECTION)) return others
  const names = pods.map(({ name }) => name)
  const ofClaim = names.length > 0 ? ({ reason: 'ClaimInUse', names } as const) : ({ reason: 'ClaimDeleting' } as const)
  return [{ on: 'persistent-volume', ...ofClaim }, ...others]
}

/** Returns why an unbound claim waits. The state of its objects takes precedence over events of controllers. */
function binding(claim: WaitingClaim, context: ClaimContext): readonly WaitOf[] | undefined {
  if (claim.phase === 'Bound') return undefined
  const wait = byClass(claim, context) ?? byEvent(claim, context)
  return [wait.message === undefined ? withMessage(wait, context.binding?.message) : wait]
}

function byClass(
  { volumeName }: WaitingClaim,
  { storageClass, binding: event, pods }: ClaimContext,
): WaitOf | undefined {
  if (volumeName !== '') return undefined
  if (storageClass?.kind === 'missing') return { reason: 'StorageClassMissing', on: 'you' }
  if (storageClass?.kind === 'none' && !storageClass.hasDefault) return { reason: 'NoClass', on: 'you' }
  if (storageClass?.kind !== 'present' || !storageClass.waitsForPod) return undefined
  if (event?.reason === 'ProvisioningFailed' || event?.reason === 'ExternalProvisioning') return undefined
  const names = pods.filter(({ nodeName }) => nodeName === '').map(({ name }) => name)
  if (names.length > 0) return { reason: 'ConsumerNotScheduled', on: 'scheduler', names }
  return pods.length > 0 ? undefined : { reason: 'NoConsumer', on: 'you' }
}

function byEvent({ volumeName, className }: WaitingClaim, context: ClaimContext): WaitOf {
  const { binding: event, failing, volume } = context
  switch (event?.reason) {
    case 'WaitForFirstConsumer':
      return { reason: 'NoConsumer', on: 'you' }
    case 'WaitForPodScheduled':
      return { reason: 'ConsumerNotScheduled', on: 'scheduler' }
    case 'ExternalProvisioning':
    case 'Provisioning': {
      const wait: WaitOf = { reason: 'Provisioning', on: 'csi-provisioner' }
      return failingOr(failing('csi-provisioner', 'CreateVolume'), 'ProvisioningFails', wait)
    }
    case 'FailedBinding':
      return { reason: volumeName === '' && !className ? 'NoClass' : 'VolumeOfAnother', on: 'you' }
    case 'VolumeMismatch':
      return { reason: 'VolumeMismatch', on: 'you' }
    case 'ProvisioningFailed':
      return { reason: 'ClassCannotProvision', on: 'you' }
    case undefined:
      if (volumeName === '' || volume !== undefined) return { reason: 'Binding', on: 'persistent-volume' }
      return { reason: 'VolumeNotThere', on: 'persistent-volume' }
    default:
      return { reason: 'ClaimNotBound', on: 'persistent-volume' }
  }
}

function resize(claim: WaitingClaim, context: ClaimContext): readonly WaitOf[] {
  const { resizeStatus, request, capacity = '0' } = claim
  if (resizeStatus?.startsWith('Node')) return [nodeResize(resizeStatus, context)]
  if (resizeStatus === undefined && Quantity.parse(request).compare(Quantity.parse(capacity)) <= 0) return []
  const on = 'csi-resizer'
  const failed = context.failing(on, 'ControllerExpandVolume')
  if (resizeStatus === 'ControllerResizeInfeasible') return [withMessage({ reason: 'InfeasibleSize', on }, failed)]
  return [failingOr(failed, 'ExpandFails', { reason: 'Expanding', on })]
}

/** Returns why a claim waits for the expansion of its file system, after the expansion of its volume. */
function nodeResize(status: string, { pods, failing }: ClaimContext): WaitOf {
  const running = pods.filter(({ phase }) => phase === 'Running')
  const [user] = running
  const on = user === undefined ? 'you' : (`kubelet/${user.nodeName}` as const)
  const failed = failing(on, 'NodeExpandVolume')
  if (status === 'NodeResizeInfeasible') return withMessage({ reason: 'NodeResizeInfeasible', on }, failed)
  if (user === undefined) return failingOr(failed, 'NodeResizeFails', { reason: 'NoPodToGrow', on })
  const names = running.map(({ name }) => name)
  return failingOr(failed, 'NodeResizeFails', { reason: 'NodeResizePending', on, node: user.nodeName, names })
}

function modification(claim: WaitingClaim, { failing }: ClaimContext): readonly WaitOf[] {
  const { attributesClass, currentAttributesClass = '', modifyStatus } = claim
  const isWanted = attributesClass !== '' && attributesClass !== currentAttributesClass
  if (!isWanted && modifyStatus === undefined) return []
  const on = 'csi-resizer'
  return [failingOr(failing(on, 'ControllerModifyVolume'), 'ModifyFails', { reason: 'Modifying', on })]
}
