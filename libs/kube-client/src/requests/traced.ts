import type { Tracer } from '@csi-sidecars/telemetry'
import { ApiError } from '../api/api-error.ts'
import type { ApiRequest } from '../api/client.ts'
import type { ApiCall } from './call.ts'

/** Records a call as a span of its run, with all attempts and waits. Sends the trace context to the server. */
export async function traced<T>(tracer: Tracer, call: ApiCall, send: () => Promise<T>): Promise<T> {
  const { request } = call
  const [path = ''] = request.path.split('?')
  const span = tracer.begin(spanName(request, path), { 'http.request.method': request.method, 'url.path': path })
  if (span === undefined) return await send()
  call.traceparent = span.traceparent
  try {
    const answer = await send()
    span.set(attemptsOf(call))
    span.end()
    return answer
  } catch (error) {
    const status = error instanceof ApiError && error.code !== 0 ? { 'http.response.status_code': error.code } : {}
    span.set({ ...attemptsOf(call), ...status })
    span.end(error)
    throw error
  }
}

function attemptsOf({ attempts }: ApiCall): { readonly 'http.request.resend_count'?: number } {
  return attempts > 1 ? { 'http.request.resend_count': attempts - 1 } : {}
}

/** Returns the name of a span. It has no object name, which would cause many different span names. */
function spanName({ method, resource, name }: ApiRequest, path: string): string {
  if (resource === undefined) return method
  const subresource = resource.subresources.find((each) => name !== undefined && path.endsWith(`/${name}/${each}`))
  return `${method} ${resource.plural}${subresource === undefined ? '' : `/${subresource}`}`
}
