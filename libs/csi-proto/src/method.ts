import { BinaryReader, type BinaryWriter } from '@bufbuild/protobuf/wire'
import type { handleServerStreamingCall, handleUnaryCall, MethodDefinition } from '@grpc/grpc-js'

/** The definition of an RPC for grpc-js, with the fields of its request and its response. */
export interface Method<Q, R> extends MethodDefinition<Q, R> {
  /** The path of the RPC, for example `/csi.v1.Controller/ControllerPublishVolume`. */
  readonly path: string
  readonly requestStream: false
  readonly responseStream: boolean
  readonly requestShape: () => Shape
  readonly responseShape: () => Shape
}

/** A method with one answer. */
export interface UnaryMethod<Q, R> extends Method<Q, R> {
  readonly responseStream: false
}

/** A method with a stream of answers. */
export interface StreamMethod<Q, R> extends Method<Q, R> {
  readonly responseStream: true
}

/** The types of the handlers of a service, by the names that `Server.addService` expects. */
export type Handlers<Service> = {
  readonly [K in keyof Service]: Service[K] extends UnaryMethod<infer Q, infer R>
    ? handleUnaryCall<Q, R>
    : Service[K] extends StreamMethod<infer Q, infer R>
      ? handleServerStreamingCall<Q, R>
      : never
}

interface Codec<T> {
  encode(message: T): BinaryWriter
  decode(input: BinaryReader | Uint8Array): T
}

interface MethodParts<Q, R> {
  readonly request: Codec<Q>
  readonly response: Codec<R>
  /** Default: no fields, so a log shows none. */
  readonly requestShape?: () => Shape
  readonly responseShape?: () => Shape
}

/**
 * The fields of a message, for printing it with the names of the proto file and without secrets. The generated code has
 * a function for each message, so that a shape is built only when it is needed.
 */
export type Shape = readonly Field[]

/** One field of a form of the page. */
export interface Field {
  /** The name in the proto file, for example `volume_id`. */
  readonly name: string
  /** The name in decoded messages, for example `volumeId`. For a member of a oneof it is also the value of `$case`. */
  readonly property: string
  /** For a member of a oneof, the property that contains `{ $case, value }`. */
  readonly oneof?: string
  readonly many?: 'list' | 'map'
  /** True if the proto file marks the field with the option `csi_secret`. */
  readonly secret?: true
  readonly type: FieldType
}

export type FieldType =
  | { readonly kind: 'scalar' }
  /** A message such as google.protobuf.BoolValue. Decoded messages contain the plain value. */
  | { readonly kind: 'wrapper' }
  /** A google.protobuf.Timestamp. Decoded messages contain its seconds and nanoseconds. */
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'enum'; readonly values: Readonly<Record<string, number>> }
  | { readonly kind: 'message'; readonly shape: () => Shape }

export function unary<Q, R>(path: string, messages: MethodParts<Q, R>): UnaryMethod<Q, R> {
  return { ...definition(path, messages), responseStream: false }
}

export function serverStream<Q, R>(path: string, messages: MethodParts<Q, R>): StreamMethod<Q, R> {
  return { ...definition(path, messages), responseStream: true }
}

function definition<Q, R>(
  path: string,
  { request, response, requestShape = noFields, responseShape = noFields }: MethodParts<Q, R>,
) {
  return {
    path,
    requestStream: false as const,
    requestSerialize: (message: Q) => bytesOf(request, message),
    requestDeserialize: (bytes: Buffer) => request.decode(strictReader(bytes)),
    responseSerialize: (message: R) => bytesOf(response, message),
    responseDeserialize: (bytes: Buffer) => response.decode(strictReader(bytes)),
    requestShape,
    responseShape,
  }
}

const noFields = (): Shape => []

/** Returns an encoded message as a Buffer for grpc-js, without a copy. */
function bytesOf<T>(codec: Codec<T>, message: T): Buffer {
  const { buffer, byteOffset, byteLength } = codec.encode(message).finish()
  return Buffer.from(buffer, byteOffset, byteLength)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns a reader that refuses a text that is not UTF-8, as Go does. It never replaces invalid bytes. */
export function strictReader(bytes: Uint8Array): BinaryReader {
  return new BinaryReader(bytes, textOf)
}

function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new Error('string field contains invalid UTF-8', { cause })
  }
}

/** Adds an entry to a map, for generated code. A plain assignment loses the key `__proto__`. */
export function putEntry<V>(map: Record<string, V>, { key, value }: { readonly key: string; readonly value: V }): void {
  if (key !== '__proto__') map[key] = value
  else Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true })
}

export const SCALAR: FieldType = { kind: 'scalar' }
export const WRAPPER: FieldType = { kind: 'wrapper' }
export const TIMESTAMP: FieldType = { kind: 'timestamp' }
