/** Exchanges made anew from their records on the disk. */
import { addToExchange, type ExchangeRecords, newExchangeRecords } from '@orangebox/codec';
import type { RecordLocation } from './record-location.ts';
import type { SnapshotSource } from './stored-snapshot.ts';

/** The exchanges whose records stand at these places. @throws when a file is gone or damaged */
export function readExchanges(locations: readonly RecordLocation[], read: SnapshotSource['read']): ExchangeRecords[] {
  const exchanges = new Map<number, ExchangeRecords>();
  for (const record of read(locations)) {
    if (!('exchangeId' in record)) continue;
    if (record.type === 'exchangeStart') exchanges.set(record.exchangeId, newExchangeRecords(record));
    else {
      const exchange = exchanges.get(record.exchangeId);
      if (exchange) addToExchange(exchange, record);
    }
  }
  return [...exchanges.values()];
}
