import type { PodRef } from './desired-state.ts'

/** The text of the event for a pod whose volume is attached to another node. */
export interface MultiAttachText {
  readonly what: string
  readonly why: string
}

/** Returns the text of the event. `users` are the pods that have the volume. `waitingMessage`: the text of 1.37. */
export function multiAttachText(
  pod: PodRef,
  users: readonly PodRef[],
  { waitingMessage }: { readonly waitingMessage: boolean },
): MultiAttachText {
  const what = waitingMessage ? 'Waiting for detach' : 'Multi-Attach error'
  if (users.length > 0) return { what, why: `Volume is already used by ${usersText(pod, users)}` }
  const rest = waitingMessage
    ? ', waiting on detach before it can be attached to another node'
    : " and can't be attached to another"
  return { what, why: `Volume is already exclusively attached to one node${rest}` }
}

function usersText(pod: PodRef, users: readonly PodRef[]): string {
  const [namespace] = pod.key.split('/')
  const local = users.filter(({ key }) => key.startsWith(`${namespace}/`)).map(({ key }) => key.split('/')[1])
  const foreign = users.length - local.length
  const foreignText = `${foreign} pod(s) in different namespaces`
  if (local.length === 0) return foreignText
  return `pod(s) ${local.join(', ')}${foreign > 0 ? ` and ${foreignText}` : ''}`
}
