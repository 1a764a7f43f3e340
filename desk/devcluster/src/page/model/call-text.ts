import { codeNameOf, type LiveCall } from '@csi-sidecars/disturb'
import { duration, short } from '../../story/expectation.ts'
import type { LastCall, TimelineEntry } from '../view/wire.ts'
import { volumeOf } from './call-log.ts'

/** The maximum length of a request or an answer on the page. */
const MAX_CHARACTERS = 4000

/** The caller of a running CSI call and the time of its start. */
export interface CallStart {
  readonly who: string
  readonly at: number
}

/** Returns the item that shows the last CSI call of a row or of an actor. `of` is the ID of the row or actor. */
export function lastCall(of: string, { method, request, end }: LiveCall, { who, at }: CallStart): LastCall {
  const begun = { kind: 'call', id: `call/${of}`, of, who, method, at, request: jsonOf(request) } as const
  if (end === undefined) return begun
  const { code, tookMs, message, response } = end
  return {
    ...begun,
    tookMs,
    code: codeNameOf(code),
    ...(message !== undefined && message !== '' && { message }),
    ...(response !== undefined && { response: jsonOf(response) }),
  }
}

/** Returns the line in the time line for an ended call. Undefined while the call runs. */
export function callLine({ method, request, end }: LiveCall, who: string): TimelineEntry | undefined {
  if (end === undefined) return undefined
  const { code, tookMs, message } = end
  const node = request['nodeId']
  const where = typeof node === 'string' && node !== '' ? ` on ${node}` : ''
  const volumeText = `${short(volumeOf({ request }))}${where}`.trim()
  const call = volumeText === '' ? method : `${method} ${volumeText}:`
  if (code === 0) return { who, text: `${call} OK, ${duration(tookMs)}` }
  const suffix = message ? `: ${message}` : ''
  return { who, text: `${call} ${codeNameOf(code)}${suffix}, ${duration(tookMs)}`, bad: true }
}

/** Returns a CSI message as JSON for the page, without empty fields and without secrets. */
export function jsonOf(message: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(message, (key, value: unknown) => readable(key, value), 2) ?? ''
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}

function readable(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value === 0n ? undefined : Number(value)
  if (isEmpty(value) && key !== '') return undefined
  return key === 'secrets' ? 'left out' : value
}

function isEmpty(value: unknown): boolean {
  if (value === '' || value === 0 || value === false || value === null) return true
  return typeof value === 'object' && Object.keys(value ?? {}).length === 0
}
