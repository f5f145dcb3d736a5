"""What OctoDNS needs to know beside its configuration.

Its configuration names the processor Writable; loading that mends how parameters of
HTTPS and SVCB are read, which is why this is a module and no patch of OctoDNS.
Seen in OctoDNS 1.22.0: its check of "ech" gives no answer where the value is right,
and its reader cuts values at "=", which ends base64.
"""

import re
from logging import getLogger

import dns.rdata
from octodns.processor.base import BaseProcessor
from octodns.record import svcb

PARAMETER = re.compile(r'([^\s="]+)(?:=("(?:[^"\\]|\\.)*"|\S*))?')

# Rendered values that say something else than what was read.
lossy = set()


def check_ech(value, validator_id=None):
    return svcb.validate_svcparam_ech(value, validator_id=validator_id) or []


def read(cls, text):
    """Reads a value in the form of zone files, whatever stands in its parameters."""
    parts = text.split(None, 2)
    if len(parts) < 2:
        raise svcb.RdataParseError()
    parameters = {}
    for match in PARAMETER.finditer(parts[2] if len(parts) > 2 else ''):
        name, value = match.groups()
        if value is not None:
            if value.startswith('"'):
                value = value[1:-1]
            if 'from_rdata_text' in svcb.SUPPORTED_PARAMS.get(name, {}):
                value = value.split(',')
        parameters[name] = value
    priority = int(parts[0]) if parts[0].isdigit() else parts[0]
    data = {
        'svcpriority': priority,
        'targetname': parts[1],
        'svcparams': parameters,
    }
    rendered = None
    try:
        rendered = cls(data).to_rdata_text()
        same = parsed('SVCB', rendered) == parsed('SVCB', text)
    except Exception:  # of any library: it can't be written back
        same = False
    if not same:
        lossy.add(rendered)
    return data


render = svcb._SvcbValueBase.to_rdata_text


def write(self):
    """Renders a value with "ech" in quotes, without which PowerDNS takes none."""
    return re.sub(r' ech=([^\s"]+)', r' ech="\1"', render(self))


def parsed(kind, text):
    return dns.rdata.from_text('IN', kind, text)


def writable(record):
    """Whether a record can be written as it was read."""
    try:
        _, _, kind, texts = record.rrs
    except Exception:
        return False
    if any(text in lossy for text in texts):
        return False
    try:
        dns.rdatatype.from_text(kind)
    except Exception:
        return True  # a provider's own type, which goes by no zone file
    try:
        for text in texts:
            parsed(kind, text)
    except Exception:
        return False
    return True


class Writable(BaseProcessor):
    """Leaves alone what a server holds, is not ours, and can't be written back."""

    log = getLogger('Writable')

    def __init__(self, name):
        super().__init__(name)
        self._ours = set()

    def process_source_zone(self, desired, sources, lenient=False):
        self._ours.update((r.fqdn, r._type) for r in desired.records)
        return desired

    def process_target_zone(self, existing, target, lenient=False):
        for record in list(existing.records):
            if (record.fqdn, record._type) in self._ours or writable(record):
                continue
            self.log.warning(
                '%s %s is left alone: the server holds a value that OctoDNS can not write back',
                record.fqdn,
                record._type,
            )
            existing.remove_record(record)
        return existing


svcb.SUPPORTED_PARAMS['ech']['validate'] = check_ech
svcb._SvcbValueBase.from_rdata_text = classmethod(read)
svcb._SvcbValueBase.to_rdata_text = write
