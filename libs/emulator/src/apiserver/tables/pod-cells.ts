import { type ApiObject, at, isObject, type Json, listAt, objectAt, textAt } from '../schema/json.ts'

/** Returns the numbers of ready containers and of all containers, such as `1/2`. */
export function podReadiness(pod: ApiObject): string {
  const ready = statuses(pod).filter(
    (status) => at(status, 'ready') === true && isObject(at(status, 'state', 'running')),
  )
  return `${ready.length}/${listAt(pod, 'spec', 'containers').length}`
}

export function podRestarts(pod: ApiObject): string {
  return String(statuses(pod).reduce<number>((sum, status) => sum + Number(at(status, 'restartCount') ?? 0), 0))
}

/** Returns the state of a pod: its phase, the reason of a container, or `Terminating`. */
export function podState(pod: ApiObject): string {
  const phase = textAt(pod, 'status', 'phase') ?? ''
  let state = textAt(pod, 'status', 'reason') || phase
  for (const status of statuses(pod)) state = containerReason(objectAt(status, 'state')) ?? state
  const ended = phase === 'Succeeded' || phase === 'Failed'
  return pod.metadata.deletionTimestamp !== undefined && !ended ? 'Terminating' : state
}

function statuses(pod: ApiObject): readonly Json[] {
  return listAt(pod, 'status', 'containerStatuses')
}

function containerReason(state: Json | undefined): string | undefined {
  const waiting = textAt(state, 'waiting', 'reason') ?? ''
  if (waiting !== '') return waiting
  const terminated = objectAt(state, 'terminated')
  if (terminated === undefined) return undefined
  const signal = at(terminated, 'signal') ?? 0
  const ending = signal === 0 ? `ExitCode:${String(at(terminated, 'exitCode'))}` : `Signal:${String(signal)}`
  return textAt(terminated, 'reason') || ending
}
