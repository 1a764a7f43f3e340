/** One request as kube-apiserver noted it. */
export interface NotedRequest {
  readonly verb: string
  readonly resource: string
  /** Wall time of its arrival, in milliseconds. */
  readonly time: number
  readonly code: number
}

/** Metadata only: enough to count, and less work for the server than bodies. */
export const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [{ level: 'None', users: ['system:apiserver', 'admin'] }, { level: 'Metadata' }],
}

/** Reads lines of the audit log. A watch is noted when it ends, with the time at which it began. */
export function notedRequests(lines: readonly string[]): NotedRequest[] {
  return lines.map((line) => {
    const { verb, objectRef, requestReceivedTimestamp, responseStatus } = JSON.parse(line) as AuditLine
    const { resource = '', subresource } = objectRef ?? {}
    return {
      verb,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      time: microtime(requestReceivedTimestamp),
      code: responseStatus?.code ?? 0,
    }
  })
}

/** Reports whether a request changes an object of the work. Leases and events are examined separately. */
export function isWork({ verb, resource }: NotedRequest): boolean {
  return isWrite(verb) && resource !== 'leases' && resource !== 'events'
}

export function isWrite(verb: string): boolean {
  return verb === 'create' || verb === 'update' || verb === 'patch' || verb === 'delete'
}

interface AuditLine {
  readonly verb: string
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string }
  readonly requestReceivedTimestamp: string
  readonly responseStatus?: { readonly code?: number }
}

/** `2026-01-02T03:04:05.678901Z` with its microseconds, which Date drops. */
function microtime(text: string): number {
  const [, micros = '0'] = /\.\d{3}(\d{1,3})/.exec(text) ?? []
  return Date.parse(text) + Number(micros.padEnd(3, '0')) / 1000
}
