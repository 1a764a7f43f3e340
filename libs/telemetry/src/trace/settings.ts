import { readFileSync } from 'node:fs'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { messageOf } from '@csi-sidecars/base'
import type { Attributes, SpanContext } from './span.ts'

export type Encoding = 'protobuf' | 'json'

/** The destination and the encoding of the spans. */
export interface ExportSettings {
  readonly url: URL
  readonly encoding: Encoding
  readonly gzip: boolean
  readonly headers: Readonly<Record<string, string>>
  /** The time limit of one batch of spans, including its retries. */
  readonly timeoutMs: number
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string }
}

/** When spans are sent. Times are in milliseconds, sizes in spans. */
export interface BatchSettings {
  /** How long a span waits for further spans. */
  readonly delayMs: number
  readonly queueSize: number
  /** The maximum number of spans in one request. */
  readonly batchSize: number
  /** The time after which the next batch is sent although the last one has not ended. */
  readonly timeoutMs: number
}

/** The settings of tracing, read from the variables OTEL_*. */
export interface TraceSettings {
  readonly export: ExportSettings
  readonly batch: BatchSettings
  readonly sampler: Sampler
  /** The name of the sampler in the environment, for the log. */
  readonly samplerName: string
  readonly resource: Attributes
}

/** Decides at the beginning of a trace whether it is recorded. */
export type Sampler = (traceId: string, parent: SpanContext | undefined) => boolean

/** An invalid variable of the environment. Its value is not logged: it may hold credentials. */
export class VariableError extends Error {
  override readonly name = 'VariableError'
  readonly variable: string

  constructor(variable: string, why: string) {
    super(why)
    this.variable = variable
  }
}

/** Thrown if a variable of the environment disables tracing. */
export class TracingDisabled extends VariableError {}

type Environment = Readonly<Record<string, string | undefined>>

const PROTOCOLS: Readonly<Record<string, Encoding>> = { 'http/protobuf': 'protobuf', 'http/json': 'json' }

/** Reads the settings from the `OTEL_*` variables. Throws VariableError. */
export function readSettings(env: Environment, defaultAttributes: Attributes): TraceSettings {
  const variables = new Variables(env)
  if (variables.text('OTEL_SDK_DISABLED').toLowerCase() === 'true') {
    throw new TracingDisabled('OTEL_SDK_DISABLED', 'it is true')
  }
  const exporter = variables.text('OTEL_TRACES_EXPORTER', 'otlp')
  if (exporter === 'none') throw new TracingDisabled('OTEL_TRACES_EXPORTER', 'it is none')
  if (exporter !== 'otlp') throw new VariableError('OTEL_TRACES_EXPORTER', 'only otlp and none are possible')
  const samplerName = variables.text('OTEL_TRACES_SAMPLER', 'parentbased_always_on')
  return {
    export: exportSettings(variables),
    batch: batchSettings(variables),
    sampler: samplerOf(samplerName, variables.text('OTEL_TRACES_SAMPLER_ARG')),
    samplerName,
    resource: resource(variables, defaultAttributes),
  }
}

function exportSettings(variables: Variables): ExportSettings {
  const [protocolName, protocol] = variables.forTraces('PROTOCOL', 'http/protobuf')
  const encoding = PROTOCOLS[protocol]
  if (encoding === undefined) {
    throw new VariableError(protocolName, `only ${Object.keys(PROTOCOLS).join(' and ')} are possible`)
  }
  const [compressionName, compression] = variables.forTraces('COMPRESSION', 'none')
  if (compression !== 'gzip' && compression !== 'none') {
    throw new VariableError(compressionName, 'only gzip and none are possible')
  }
  const [timeoutName, timeout] = variables.forTraces('TIMEOUT', '10000')
  return {
    url: endpoint(variables),
    encoding,
    gzip: compression === 'gzip',
    headers: headers(...variables.forTraces('HEADERS', '')),
    timeoutMs: wholeNumber(timeoutName, timeout),
    tls: {
      ...file('ca', variables.forTraces('CERTIFICATE', '')),
      ...file('cert', variables.forTraces('CLIENT_CERTIFICATE', '')),
      ...file('key', variables.forTraces('CLIENT_KEY', '')),
    },
  }
}

/** Returns the URL for traces. The variable for traces is the whole URL; the common variable lacks `/v1/traces`. */
function endpoint(variables: Variables): URL {
  const [name, text] = variables.forTraces('ENDPOINT', 'http://localhost:4318')
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new VariableError(name, 'it is no http or https URL')
  }
  if (!name.includes('_TRACES_')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url
}

function headers(variable: string, text: string): Record<string, string> {
  const found = pairs(variable, text)
  for (const [name, value] of Object.entries(found)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      // The caught error is dropped, because it contains the value, which may be a token.
      throw new VariableError(variable, 'not every pair of it can be a header')
    }
  }
  return found
}

function resource(variables: Variables, defaultAttributes: Attributes): Attributes {
  const name = 'OTEL_RESOURCE_ATTRIBUTES'
  const service = variables.text('OTEL_SERVICE_NAME')
  return {
    ...defaultAttributes,
    ...pairs(name, variables.text(name)),
    ...(service !== '' && { 'service.name': service }),
  }
}

function batchSettings(variables: Variables): BatchSettings {
  const number = (name: string, otherwise: number): number => wholeNumber(name, variables.text(name, String(otherwise)))
  const queueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', 2048)
  return {
    delayMs: number('OTEL_BSP_SCHEDULE_DELAY', 5000),
    queueSize,
    batchSize: Math.min(number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512), queueSize),
    timeoutMs: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
  }
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new VariableError(name, 'it is no whole number above 0')
}

/** Parses pairs such as `a=b,c=d`, percent-encoded as in W3C baggage. */
function pairs(variable: string, text: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue
    const equals = pair.indexOf('=')
    const key = decoded(pair.slice(0, Math.max(equals, 0)))
    const value = decoded(pair.slice(equals + 1))
    if (!key || value === undefined) throw new VariableError(variable, 'it is no list of key=value pairs')
    found[key] = value
  }
  return found
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return undefined
  }
}

function file<K extends string>(key: K, [variable, path]: readonly [string, string]): Partial<Record<K, string>> {
  if (path === '') return {}
  try {
    return { [key]: readFileSync(path, 'utf8') } as Record<K, string>
  } catch (error) {
    throw new VariableError(variable, messageOf(error))
  }
}

/** The environment variables. An empty variable counts as absent. */
class Variables {
  readonly #env: Environment

  constructor(env: Environment) {
    this.#env = env
  }

  text(name: string, otherwise = ''): string {
    return this.#env[name]?.trim() || otherwise
  }

  /** Returns the effective variable with its value. The variable for traces overrides the variable for all signals. */
  forTraces(variable: string, otherwise: string): readonly [name: string, value: string] {
    const nameForTraces = `OTEL_EXPORTER_OTLP_TRACES_${variable}`
    if (this.text(nameForTraces) !== '') return [nameForTraces, this.text(nameForTraces)]
    const name = `OTEL_EXPORTER_OTLP_${variable}`
    return [name, this.text(name, otherwise)]
  }
}

/** Returns the sampler of a name. Throws VariableError if the name is unknown, or the argument no number from 0 to 1. */
export function samplerOf(name: string, argument: string): Sampler {
  const [, parentBased, root = ''] = /^(parentbased_)?(.*)$/.exec(name) ?? []
  const decide = rootSampler(root, argument)
  return parentBased === undefined ? decide : (traceId, parent) => parent?.sampled ?? decide(traceId, undefined)
}

function rootSampler(name: string, argument: string): Sampler {
  switch (name) {
    case 'always_on':
      return () => true
    case 'always_off':
      return () => false
    case 'traceidratio':
      return ratioSampler(argument)
    default:
      throw new VariableError('OTEL_TRACES_SAMPLER', 'no such sampler')
  }
}

/** Samples by the same digits of the ID as Go's SDK, so that components with the same ratio keep the same traces. */
function ratioSampler(argument: string): Sampler {
  const part = argument === '' ? 1 : Number(argument)
  if (!(part >= 0 && part <= 1)) throw new VariableError('OTEL_TRACES_SAMPLER_ARG', 'it is no number from 0 to 1')
  if (part === 1) return () => true
  const upperBound = BigInt(Math.floor(part * 2 ** 63))
  return (traceId) => BigInt(`0x${traceId.slice(16)}`) >> 1n < upperBound
}
