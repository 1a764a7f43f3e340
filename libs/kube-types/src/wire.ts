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

type WireField<T, Key extends keyof T> = undefined extends T[Key] ? Wire<T[Key]> | undefined : Wire<T[Key]>

type WireName<Key> = Key extends `_${infer Reserved}` ? Reserved : Key
