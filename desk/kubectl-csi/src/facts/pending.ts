/** One piece of pending work, as `/debug/stuck` of a sidecar reports it. Unreported facts are undefined. */
export interface PendingItem {
  readonly sidecar: string
  readonly driver: string
  readonly operation: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
  readonly state: string
  readonly reason: string | undefined
  readonly since: string | undefined
  readonly stuck: boolean
  readonly tries: number | undefined
  readonly code: string | undefined
  readonly message: string | undefined
  readonly waitsFor: readonly string[]
  readonly nextTry: string | undefined
}

/** The answer of `/debug/stuck` of one sidecar. */
export interface PendingPage {
  readonly items: readonly PendingItem[]
  /** The RBAC rules that the role of the sidecar lacks. */
  readonly missingPermissions: readonly string[]
  readonly continue: string | undefined
}

/** Reads a page of `/debug/stuck`, or returns undefined. Checks each field, because the proxy may reach any program. */
export function pendingPage(answer: unknown): PendingPage | undefined {
  const { items, continue: token, missingPermissions } = fields(answer)
  if (!Array.isArray(items)) return undefined
  return { items: items.map(pendingItem), missingPermissions: texts(missingPermissions), continue: text(token) }
}

function pendingItem(value: unknown): PendingItem {
  const item = fields(value)
  const object = fields(item['object'])
  return {
    sidecar: text(item['sidecar']) ?? '',
    driver: text(item['driver']) ?? '',
    operation: text(item['operation']) ?? '',
    kind: text(object['kind']) ?? '',
    namespace: text(object['namespace']),
    name: text(object['name']) ?? '',
    state: text(item['state']) ?? '',
    reason: text(item['reason']),
    since: text(item['since']),
    stuck: item['stuck'] === true,
    tries: typeof item['tries'] === 'number' ? item['tries'] : undefined,
    code: text(item['code']),
    message: text(item['message']),
    waitsFor: texts(item['waitsFor']),
    nextTry: text(item['nextTry']),
  }
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/** Returns a text. Undefined if it is empty or not a text. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
