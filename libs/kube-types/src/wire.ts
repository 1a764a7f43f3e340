/**
 * A model of client-node as on the wire: dates are text, arrays and maps are read-only, and the
 * underscore that the generator puts before TypeScript's reserved words (`_continue`, `_default`) is gone.
 * What may be absent may also be `undefined`: JSON drops it.
 */
export type Wire<T> = 0 extends 1 & T
  ? unknown
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Wire<Item>[]
      : T extends object
        ? WireObject<T>
        : T

type WireObject<T> = { readonly [Key in keyof T as WireName<Key>]: WireField<T, Key> }

/** A list that is always written is null when it is empty, and so is a time that is not set. */
type WireField<T, Key extends keyof T> = undefined extends T[Key]
  ?
      | Wire<T[Key]>
      | (Date extends T[Key]
          ? Key extends LeftOut
            ? undefined
            : null | undefined
          : Key extends WrittenEmpty
            ? null | undefined
            : undefined)
  : Wire<T[Key]> | (T[Key] extends readonly unknown[] ? null : never)

/** Times that JSON omits if they are not set. */
type LeftOut = 'creationTimestamp' | 'deletionTimestamp' | 'acquireTime' | 'renewTime'

/** Lists that are always written, though client-node says that they may be left out. */
type WrittenEmpty = 'topologyKeys'

type WireName<Key> = Key extends `_${infer Reserved}` ? Reserved : Key
