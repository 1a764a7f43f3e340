/**
 * The JSON form of a type of client-node. Dates are texts, and lists and maps are read-only. Names lose the underscore
 * that the generator puts before reserved words (`_continue`, `_default`). Optional fields may be `undefined`, because
 * JSON drops them.
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

/** The type of a field. A list or a time that JSON always contains is null if it is empty. */
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

/** Lists that JSON always contains, although client-node calls them optional. */
type WrittenEmpty = 'topologyKeys'

type WireName<Key> = Key extends `_${infer Reserved}` ? Reserved : Key
