import { BinaryReader, type BinaryWriter } from '@bufbuild/protobuf/wire'
import type { handleServerStreamingCall, handleUnaryCall, MethodDefinition } from '@grpc/grpc-js'

/** One RPC as grpc-js wants it, for clients and servers, and the shapes of what travels. */
export interface Method<Q, R> extends MethodDefinition<Q, R> {
  /** `/csi.v1.Controller/ControllerPublishVolume`. */
  readonly path: string
  readonly requestStream: false
  readonly responseStream: boolean
  readonly requestShape: () => Shape
  readonly responseShape: () => Shape
}

export interface UnaryMethod<Q, R> extends Method<Q, R> {
  readonly responseStream: false
}

export interface StreamMethod<Q, R> extends Method<Q, R> {
  readonly responseStream: true
}

/** The types of a service's handlers, by the names under which `Server.addService` looks for them. */
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
  readonly requestShape: () => Shape
  readonly responseShape: () => Shape
}

export function unary<Q, R>(path: string, parts: MethodParts<Q, R>): UnaryMethod<Q, R> {
  return { ...definition(path, parts), responseStream: false }
}

export function serverStream<Q, R>(path: string, parts: MethodParts<Q, R>): StreamMethod<Q, R> {
  return { ...definition(path, parts), responseStream: true }
}

function definition<Q, R>(path: string, { request, response, requestShape, responseShape }: MethodParts<Q, R>) {
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

/** The writer's bytes as the Buffer that grpc-js asks for, not copied. */
function bytesOf<T>(codec: Codec<T>, message: T): Buffer {
  const { buffer, byteOffset, byteLength } = codec.encode(message).finish()
  return Buffer.from(buffer, byteOffset, byteLength)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a message and refuses text that is no UTF-8, as Go does; replaced bytes would be other text. */
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

/**
 * The fields of a message that a printer needs: it prints an object with the names of the proto file and
 * without its secrets. The generated code has a function for each message, so nothing is built before the first print.
 */
export type Shape = readonly Field[]

export interface Field {
  /** As in the proto: `volume_id`. */
  readonly name: string
  /** The name on our objects: `volumeId`. For a member of a oneof also the value of `$case`. */
  readonly property: string
  /** The property that holds `{ $case, value }` when this field is a member of a oneof. */
  readonly oneof?: string
  readonly many?: 'list' | 'map'
  /** Marked with the option csi_secret. */
  readonly secret?: true
  readonly type: FieldType
}

export type FieldType =
  | { readonly kind: 'scalar' }
  /** google.protobuf.BoolValue and the like; our objects hold the bare value. */
  | { readonly kind: 'wrapper' }
  /** google.protobuf.Timestamp; our objects hold its seconds and nanoseconds. */
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'enum'; readonly values: Readonly<Record<string, number>> }
  | { readonly kind: 'message'; readonly shape: () => Shape }

export const SCALAR: FieldType = { kind: 'scalar' }
export const WRAPPER: FieldType = { kind: 'wrapper' }
export const TIMESTAMP: FieldType = { kind: 'timestamp' }
