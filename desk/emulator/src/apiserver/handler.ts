import { messageOf } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { OpenExchange } from '../exchange-log.ts'
import type { FaultAction, FaultResponse, FaultSubject, Faults } from '../faults/request-faults.ts'
import type { AuthenticatedUser } from './access/authentication.ts'
import { accessOf, requireAccess } from './access/authorization.ts'
import { objectIn } from './codec/decode.ts'
import { PROTOBUF } from './codec/protobuf/decode.ts'
import { statusBytes } from './codec/protobuf/envelope.ts'
import { mediaTypeOf, PLAIN, type Rendering, shapeOf } from './codec/representation.ts'
import { ApiFailure, badRequest, methodNotAllowed } from './http/api-failure.ts'
import type { HttpRequest, HttpResponse } from './http/exchange.ts'
import { mediaType, readBody } from './http/read-body.ts'
import { injected, refuse, type StatusForm, send } from './http/reply.ts'
import { type RequestInfo, type ResourceInfo, requestInfo, served } from './http/request-info.ts'
import { documentAt } from './openapi/discovery.ts'
import type { LoggedRequest, RequestLog } from './request-log.ts'
import type { Json } from './schema/json.ts'
import { kindAt, type ServedKind } from './schema/kinds.ts'
import { answer, type ResourceCall, type VerbParts } from './verbs/answer.ts'
import type { Watches } from './watch/watches.ts'

/** The parts of a server that handle one request after another. */
export interface HandlerParts extends VerbParts {
  readonly watches: Watches
  readonly requests: RequestLog
  readonly faults: Faults
  readonly log: Logger
}

/** A request in progress, with its user, its log entry and the dependencies of the handler. */
interface Exchange {
  readonly deps: HandlerParts
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly url: URL
  readonly info: RequestInfo
  readonly user: AuthenticatedUser
  readonly logged: OpenExchange<LoggedRequest>
}

/** The HTTP methods that resources support. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** Serves one request: authentication, parsing, authorization, faults, answer. */
export async function handle(deps: HandlerParts, request: HttpRequest, response: HttpResponse): Promise<void> {
  let logged: OpenExchange<LoggedRequest> | undefined
  try {
    const url = new URL(`http://server${request.url?.startsWith('/') === true ? request.url : '/'}`)
    const info = requestInfo(request.method ?? 'GET', url)
    const open = deps.requests.add(factsOf(deps, request, { url, info }))
    logged = open
    // A client that disconnects before the answer also ends the log entry of its request.
    response.once('close', () => open.end({}))
    const user = deps.authentication.userOf(request.headers.authorization)
    open.note({ user: user.name })
    requireAccess(deps.registry.store, user, accessOf(info, url.searchParams))
    if (info.type === 'resource' && !METHODS.has(request.method ?? 'GET')) throw methodNotAllowed()
    const body = await readBody(request)
    if (deps.requests.keeps) {
      open.note({ body: loggedBody(info, request.headers['content-type'], body) }, body.length)
    }
    const subject = { ...subjectOf(info, request), user: user.name }
    await deps.faults.awaitHold(subject)
    const fault = deps.faults.match(subject)
    await serve({ deps, request, response, url, info, user, logged }, body, fault)
  } catch (error) {
    const failure = asFailure(error)
    if (failure.code === 500 && failure !== error)
      deps.log.error(error, 'Request failed', { method: request.method, path: request.url })
    logged?.end({ code: failure.code })
    refuse(response, failure, statusFormOf(request))
  }
}

/** Returns the protobuf form of a Status if the client prefers protobuf. */
function statusFormOf({ headers }: HttpRequest): StatusForm | undefined {
  if (headers.accept?.startsWith(PROTOBUF) !== true) return undefined
  return (status) => ({ text: statusBytes(status), contentType: PROTOBUF })
}

function asFailure(error: unknown): ApiFailure {
  if (error instanceof RangeError && error.message.includes('call stack')) return badRequest('exceeded max depth')
  return error instanceof ApiFailure ? error : new ApiFailure('InternalError', messageOf(error))
}

async function serve(exchange: Exchange, body: Buffer, fault: FaultAction | undefined): Promise<void> {
  const { deps, request, response, info, logged } = exchange
  if (fault?.kind === 'delay') await deps.registry.clock.sleep(fault.ms)
  else if (fault !== undefined && fault.kind !== 'endWatch') return respond(exchange, body, fault)
  if (info.type === 'path') {
    const document = documentAt(deps.registry.absent, info.path, request.headers.accept)
    logged.end({ code: document.code })
    return send(response, document)
  }
  if (info.verb === 'watch') return watch(exchange, info, fault)
  const reply = answer(deps, callOf(exchange, info, body))
  logged.end({ code: reply.code })
  send(response, reply)
}

async function watch(exchange: Exchange, info: ResourceInfo, fault: FaultAction | undefined): Promise<void> {
  const { deps, response, url, logged } = exchange
  const { kind, namespace, name } = served(info, deps.registry.absent)
  const rendering = renderingOf(exchange, kind)
  const query = url.searchParams
  const asked = deps.watches.requestOf(kind, { namespace, name, query, shape: rendering.shape }, fault)
  logged.end({ code: 200 })
  response.writeHead(200, { 'content-type': mediaTypeOf(rendering.shape, true) })
  response.flushHeaders()
  await deps.watches.serve(response, kind, asked)
}

function callOf(exchange: Exchange, info: ResourceInfo, body: Buffer): ResourceCall {
  const contentType = exchange.request.headers['content-type']
  const asked = served(info, exchange.deps.registry.absent)
  return {
    request: asked,
    user: exchange.user,
    query: exchange.url.searchParams,
    contentType,
    body,
    rendering: renderingOf(exchange, asked.kind),
  }
}

function renderingOf({ deps, request, url, info }: Exchange, kind: ServedKind): Rendering {
  const reads = info.verb === 'get' || info.verb === 'list' || info.verb === 'watch'
  const shape = shapeOf(request.headers.accept, url.searchParams, kind)
  // Only reads may return tables. The answer to a write is always the object as JSON.
  return { shape: reads ? shape : PLAIN, now: deps.registry.clock.now() }
}

function respond(exchange: Exchange, body: Buffer, fault: FaultResponse): void {
  const { deps, response, info, logged } = exchange
  if (fault.applied === true && info.type === 'resource' && info.verb !== 'watch') {
    applyAnyway(deps, () => callOf(exchange, info, body))
  }
  switch (fault.kind) {
    case 'hang':
      return
    case 'cut':
      response.destroy()
      return
    case 'answer':
      logged.end({ code: fault.code })
      refuse(response, injected(fault), statusFormOf(exchange.request))
  }
}

/** Performs a request for which an injected fault sends another answer. Only internal errors are thrown. */
function applyAnyway(deps: VerbParts, call: () => ResourceCall): void {
  try {
    answer(deps, call())
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error
  }
}

function factsOf(
  { registry }: HandlerParts,
  request: HttpRequest,
  { url, info }: Pick<Exchange, 'url' | 'info'>,
): LoggedRequest {
  return {
    ...subjectOf(info, request),
    time: registry.clock.now(),
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    contentType: request.headers['content-type'],
    body: undefined,
    code: 0,
  }
}

/** Returns the parsed body for the request log. Undefined if the body is empty or cannot be parsed. */
function loggedBody(info: RequestInfo, contentType: string | undefined, body: Buffer): Json | undefined {
  if (body.length === 0) return undefined
  const type = mediaType(contentType)
  try {
    if (type === '' || type.endsWith('json')) return JSON.parse(body.toString()) as Json
    if (type !== PROTOBUF || info.type !== 'resource') return undefined
    const kind = kindAt(info.group, info.version, info.plural)
    return kind && objectIn(kind, contentType, body)
  } catch {
    return undefined
  }
}

function subjectOf(info: RequestInfo, request: HttpRequest): FaultSubject {
  const { method = 'GET', headers } = request
  const by = { method, user: undefined, userAgent: headers['user-agent'] }
  if (info.type === 'path') return { ...by, verb: undefined, resource: '', namespace: undefined, name: undefined }
  const { verb, plural, subresource, namespace, name } = info
  return { ...by, verb, resource: subresource === undefined ? plural : `${plural}/${subresource}`, namespace, name }
}
