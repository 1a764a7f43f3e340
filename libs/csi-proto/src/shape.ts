/**
 * The fields of a message that a printer needs: it prints an object with the names of the proto file and
 * without its secrets. The generated code has a function for each message, so nothing is built before the first print.
 */
export type Shape = readonly Field[]

export interface Field {
  /** The name in the proto file: `volume_id`. */
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
