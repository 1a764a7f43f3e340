import { CODES } from '@csi-sidecars/csi'
import { codeNameOf } from '../../calls/seen.ts'
import type { ProxiedCall } from '../../proxy/call.ts'
import type { Violation } from './checks.ts'
import { text, type VolumeTracker } from './volume-tracker.ts'

/** By these a driver says that a volume, or its stage, is not there. */
const ABSENT: ReadonlySet<number | undefined> = new Set([CODES.NotFound, CODES.FailedPrecondition])

/** A publish on a node that finds no stage, where the volume is staged: the cluster would stage it again in silence. */
export function forgottenStage(call: ProxiedCall, tracker: VolumeTracker): readonly Violation[] {
  const { method, request, end, code, message } = call
  if (method !== 'NodePublishVolume' || end === undefined || !ABSENT.has(code)) return []
  const about = text(request['volumeId'])
  const volume = tracker.get(about)
  if (volume?.staged.get(text(request['stagingTargetPath'])) !== 'yes') return []
  const answer = `${codeNameOf(code ?? 0)} ${JSON.stringify(message)}`
  return [
    { check: 'kept', about, text: `volume ${about} was staged, and NodePublishVolume was answered with ${answer}` },
  ]
}
