package env

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Port is a TCP port.
type Port uint16

// EnvDecode takes a decimal number.
func (p *Port) EnvDecode(value string) error {
	number, err := decimal(value, 1, math.MaxUint16)
	*p = Port(number) //nolint:gosec // Bounded by the line above.
	return err
}

// Valid says what EnvDecode accepts.
func (p *Port) Valid() string { return "port number from 1 to 65535" }

// Count is how many of something, at least one.
type Count int

// EnvDecode takes a decimal number.
func (c *Count) EnvDecode(value string) error {
	number, err := decimal(value, 1, math.MaxInt32)
	*c = Count(number)
	return err
}

// Valid says what EnvDecode accepts.
func (c *Count) Valid() string { return "whole number from 1" }

// Number is how many of something, none included.
type Number int

// EnvDecode takes a decimal number.
func (n *Number) EnvDecode(value string) error {
	number, err := decimal(value, 0, math.MaxInt32)
	*n = Number(number)
	return err
}

// Valid says what EnvDecode accepts.
func (n *Number) Valid() string { return "whole number from 0" }

// decimal reads digits without sign or leading zero: "010" is 8 to some and 10 to
// others.
func decimal(value string, least, most int) (int, error) {
	switch {
	case strings.Trim(value, "0123456789") != "":
		return 0, errors.New("is not made of digits alone")
	case len(value) > 1 && value[0] == '0':
		return 0, errors.New("has a leading zero")
	}
	number, err := strconv.Atoi(value)
	switch {
	case err != nil || number > most:
		return 0, fmt.Errorf("is above %d", most)
	case number < least:
		return 0, fmt.Errorf("is below %d", least)
	}
	return number, nil
}

// Duration is a time that something may take, above zero.
type Duration time.Duration

// EnvDecode takes numbers with units, as time.ParseDuration does.
func (d *Duration) EnvDecode(value string) error {
	parsed, err := duration(value)
	if err == nil && parsed == 0 {
		err = errors.New("is no time at all")
	}
	*d = Duration(parsed)
	return err
}

// Valid says what EnvDecode accepts.
func (d *Duration) Valid() string { return "duration above zero such as 30s, 5m or 1h30m" }

// String returns the duration with its units.
func (d Duration) String() string { return time.Duration(d).String() }

// DurationOrOff is a Duration that may be zero, which turns off what it bounds.
type DurationOrOff time.Duration

// EnvDecode takes what Duration takes, and 0.
func (d *DurationOrOff) EnvDecode(value string) error {
	parsed, err := duration(value)
	*d = DurationOrOff(parsed)
	return err
}

// Valid says what EnvDecode accepts.
func (d *DurationOrOff) Valid() string { return "duration such as 30s or 5m, or 0 to turn it off" }

// String returns the duration with its units.
func (d DurationOrOff) String() string { return time.Duration(d).String() }

// duration reads a duration that is not negative.
func duration(value string) (time.Duration, error) {
	parsed, err := time.ParseDuration(value)
	switch {
	case err != nil && strings.Trim(value, "0123456789.") == "":
		return 0, errors.New("has no unit")
	case err != nil:
		return 0, errors.New("is not a duration")
	case parsed < 0:
		return 0, errors.New("is negative")
	}
	return parsed, nil
}
