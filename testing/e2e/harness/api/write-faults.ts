import { refusal, retryAfter } from './gate.ts'
import type { Fault } from './wire.ts'

const CHANGED =
  'Operation cannot be fulfilled on it: the object has been modified; please apply your changes to the latest version and try again'

export const BROKEN = refusal(500, 'InternalError', 'Internal error occurred: etcdserver: request timed out')
export const ETCD_TIRED = refusal(500, 'InternalError', 'etcd is tired')

/** Temporary failures of a write request, by name. */
export const WRITE_FAULTS: Readonly<Record<string, Fault>> = {
  conflict: refusal(409, 'Conflict', CHANGED),
  busy: refusal(429, 'TooManyRequests', 'too many requests'),
  overloaded: retryAfter(1, refusal(429, 'TooManyRequests', 'too many requests')),
  broken: BROKEN,
  gateway: { kind: 'answer', code: 502, body: ['no Status at all'] },
  leaving: retryAfter(1, refusal(503, 'ServiceUnavailable', 'apiserver is shutting down')),
  late: refusal(504, 'Timeout', 'Timeout: request did not complete within the allotted timeout'),
  cut: { kind: 'cut' },
  unheard: { kind: 'loseAnswer' },
}
