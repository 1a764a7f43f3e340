/** Does the work for each item, for `atOnce` of them at a time. After a failure no other item is begun. */
export async function inParallel<T>(
  atOnce: number,
  items: Iterable<T>,
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const left = Iterator.from(items).map((item, index) => ({ item, index }))
  const worker = async (): Promise<void> => {
    for (const { item, index } of left) await work(item, index)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
