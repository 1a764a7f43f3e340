import type { Resource } from '@csi-sidecars/kube-types'
import type { RequestOptions } from './client.ts'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One request to the API, before anything is known about connections or credentials. */
export interface ApiRequest {
  readonly method: HttpMethod
  /** The path with its query, already escaped. */
  readonly path: string
  readonly body?: { readonly type: string; readonly text: string } | undefined
  /** The accepted media types, as the value of the header `Accept`. Default: JSON. */
  readonly accept?: string | undefined
  /** The resource of the request, for errors and for the flow control of its API group. */
  readonly resource?: Resource<unknown> | undefined
  readonly name?: string | undefined
  readonly options?: RequestOptions | undefined
}

export type QueryValue = string | number | boolean | undefined

/** `?a=b&c=d` in the order given; empty without any value. Absent values are left out. */
export function query(values: Readonly<Record<string, QueryValue>>): string {
  let text = ''
  for (const name in values) {
    const value = values[name]
    if (value === undefined || value === '') continue
    text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`
  }
  return text
}
